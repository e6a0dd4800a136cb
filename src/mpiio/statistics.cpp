#include "mpiio/statistics.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <sstream>

#include "mpiio/gather.h"
#include "mpiio/job.h"
#include "mpiio/visibility.h"

namespace forebay::mpiio {
namespace {

using runtime::Statistics;

// Every counter once: its name in the JSON file and its member.
struct Counter {
  const char* name;
  int64_t Statistics::*value;
};
constexpr Counter counters[] = {
    {"write_calls", &Statistics::write_calls},
    {"read_calls", &Statistics::read_calls},
    {"write_bytes", &Statistics::write_bytes},
    {"read_bytes", &Statistics::read_bytes},
    {"hits", &Statistics::hits},
    {"misses", &Statistics::misses},
    {"evictions", &Statistics::evictions},
    {"write_requests", &Statistics::write_requests},
    {"read_requests", &Statistics::read_requests},
    {"write_syscalls", &Statistics::write_syscalls},
    {"read_syscalls", &Statistics::read_syscalls},
    {"committed_bytes", &Statistics::committed_bytes},
    {"fetched_bytes", &Statistics::fetched_bytes},
    {"bypass_calls", &Statistics::bypass_calls},
    {"bypass_bytes", &Statistics::bypass_bytes},
    {"aside_calls", &Statistics::aside_calls},
    {"commit_ns", &Statistics::commit_ns},
    {"io_ns", &Statistics::io_ns},
};

std::mutex recorded_mutex;
std::vector<FileStatistics>& recorded() {
  static std::vector<FileStatistics> files;
  return files;
}

void add(std::vector<FileStatistics>& files, const std::string& name, const Statistics& more) {
  auto file = std::find_if(files.begin(), files.end(),
                           [&name](const FileStatistics& known) { return known.first == name; });
  if (file == files.end()) file = files.insert(files.end(), {name, Statistics{}});
  file->second.add(more);
}

// A file a line: the counters, then the name.
std::string serialised(const std::vector<FileStatistics>& files) {
  std::ostringstream lines;
  for (const auto& [name, statistics] : files) {
    for (const Counter& counter : counters) lines << statistics.*counter.value << ' ';
    std::string flat = name;
    std::replace(flat.begin(), flat.end(), '\n', ' ');
    lines << flat << '\n';
  }
  return lines.str();
}

void add_serialised(std::vector<FileStatistics>& files, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    Statistics statistics;
    for (const Counter& counter : counters) fields >> statistics.*counter.value;
    fields.get();
    std::string name;
    std::getline(fields, name);
    add(files, name, statistics);
  }
}

std::string json_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      quoted += escaped;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string json_object(const Statistics& statistics) {
  std::ostringstream text;
  const char* separator = "{";
  for (const Counter& counter : counters) {
    text << separator << '"' << counter.name << "\": " << statistics.*counter.value;
    separator = ", ";
  }
  text << '}';
  return text.str();
}

Statistics total_of(const std::vector<FileStatistics>& files) {
  Statistics total;
  for (const auto& [name, statistics] : files) total.add(statistics);
  return total;
}

void write_json(const std::string& path, const std::vector<FileStatistics>& files, int ranks) {
  std::FILE* out = std::fopen(path.c_str(), "w");
  if (out == nullptr) {
    std::fprintf(stderr, "forebay: cannot write the statistics to %s: %s\n", path.c_str(),
                 std::strerror(errno));
    return;
  }
  std::fprintf(out, "{\"ranks\": %d, \"mpi\": \"%s\", \"total\": %s,\n \"files\": {", ranks,
               abi_name(), json_object(total_of(files)).c_str());
  const char* separator = "\n";
  for (const auto& [name, statistics] : files) {
    std::fprintf(out, "%s  %s: %s", separator, json_text(name).c_str(),
                 json_object(statistics).c_str());
    separator = ",\n";
  }
  std::fprintf(out, "\n }}\n");
  std::fclose(out);
}

void print_row(const std::string& name, const Statistics& s) {
  constexpr double mebibyte = 1 << 20;
  std::fprintf(stderr, "%10lld %9.1f %10lld %9.1f %10lld %10lld %9lld %9lld %9.1f %8.3f  %s\n",
               static_cast<long long>(s.write_calls), static_cast<double>(s.write_bytes) / mebibyte,
               static_cast<long long>(s.read_calls), static_cast<double>(s.read_bytes) / mebibyte,
               static_cast<long long>(s.hits), static_cast<long long>(s.misses),
               static_cast<long long>(s.evictions),
               static_cast<long long>(s.write_requests + s.read_requests),
               static_cast<double>(s.committed_bytes) / mebibyte,
               static_cast<double>(s.io_ns) / 1e9, name.c_str());
}

void print_table(const std::vector<FileStatistics>& files, int ranks) {
  std::fprintf(stderr, "forebay: %d %s, all ranks summed\n", ranks, ranks == 1 ? "rank" : "ranks");
  std::fprintf(stderr, "%10s %9s %10s %9s %10s %10s %9s %9s %9s %8s  %s\n", "writes", "MiB",
               "reads", "MiB", "hits", "misses", "evicted", "requests", "back MiB", "I/O s",
               "file");
  for (const auto& [name, statistics] : files) print_row(name, statistics);
  if (files.size() != 1) print_row("total", total_of(files));
  for (const auto& [name, statistics] : files) {
    if (statistics.aside_calls == 0) continue;
    std::fprintf(stderr, "forebay: stepped aside in %lld calls on %s: the cache brought no gain\n",
                 static_cast<long long>(statistics.aside_calls), name.c_str());
  }
}

}  // namespace

void record_statistics(Handle& handle) {
  note_visibility(handle);
  const std::lock_guard guard(recorded_mutex);
  add(recorded(), handle.name, handle.cached->statistics());
}

std::vector<FileStatistics> statistics_by_file() {
  std::vector<FileStatistics> files;
  {
    const std::lock_guard guard(recorded_mutex);
    files = recorded();
  }
  open_handles.for_each([&files](Handle& handle) {
    const HandleLock lock(handle);
    add(files, handle.name, handle.cached->statistics());
  });
  return files;
}

void report_statistics() {
  const Options& options = process_options();
  if (!options.stats && options.stats_json.empty()) return;
  const std::string all = gather(mpi().comm_world, serialised(statistics_by_file()));
  if (options.stats) warn_of_visibility();
  int rank = 0;
  int ranks = 0;
  mpi().Comm_rank(mpi().comm_world, &rank);
  mpi().Comm_size(mpi().comm_world, &ranks);
  if (rank != 0) return;
  std::vector<FileStatistics> files;
  add_serialised(files, all);
  if (options.stats) print_table(files, ranks);
  if (!options.stats_json.empty()) write_json(options.stats_json, files, ranks);
}

}  // namespace forebay::mpiio
