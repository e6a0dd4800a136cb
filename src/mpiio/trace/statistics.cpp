#include "mpiio/trace/statistics.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <string_view>

#include "agent/line.h"
#include "domain/file_domains.h"
#include "extent/text.h"
#include "mpiio/file/visibility.h"
#include "mpiio/job/job.h"
#include "mpiio/job/run_folder.h"
#include "mpiio/library/agreement.h"
#include "mpiio/library/gather.h"
#include "mpiio/trace/statistics_table.h"

namespace forebay::mpiio {
namespace {

// All counters: the name in the JSON file, and the member.
struct Counter {
  const char* name;
  int64_t Statistics::*value;
};
constexpr Counter counters[] = {
    {"write_calls", &Statistics::write_calls},
    {"read_calls", &Statistics::read_calls},
    {"write_bytes", &Statistics::write_bytes},
    {"read_bytes", &Statistics::read_bytes},
    {"read_storage_bytes", &Statistics::read_storage_bytes},
    {"read_remote_bytes", &Statistics::read_remote_bytes},
    {"hits", &Statistics::hits},
    {"misses", &Statistics::misses},
    {"evictions", &Statistics::evictions},
    {"write_requests", &Statistics::write_requests},
    {"read_requests", &Statistics::read_requests},
    {"write_syscalls", &Statistics::write_syscalls},
    {"read_syscalls", &Statistics::read_syscalls},
    {"committed_bytes", &Statistics::committed_bytes},
    {"commit_lists", &Statistics::commit_lists},
    {"fetched_bytes", &Statistics::fetched_bytes},
    {"ahead_pages", &Statistics::ahead_pages},
    {"ahead_used_pages", &Statistics::ahead_used_pages},
    {"ahead_late_pages", &Statistics::ahead_late_pages},
    {"kept_pages", &Statistics::kept_pages},
    {"pace_waits", &Statistics::pace_waits},
    {"guest_bytes", &Statistics::guest_bytes},
    {"accepted_bytes", &Statistics::accepted_bytes},
    {"asked_bytes", &Statistics::asked_bytes},
    {"exchanged_bytes", &Statistics::exchanged_bytes},
    {"asked_questions", &Statistics::asked_questions},
    {"exchanged_questions", &Statistics::exchanged_questions},
    {"bypass_calls", &Statistics::bypass_calls},
    {"bypass_bytes", &Statistics::bypass_bytes},
    {"bypass_written_bytes", &Statistics::bypass_written_bytes},
    {"aside_calls", &Statistics::aside_calls},
    {"local_calls", &Statistics::local_calls},
    {"no_page_calls", &Statistics::no_page_calls},
    {"commit_ns", &Statistics::commit_ns},
    {"io_ns", &Statistics::io_ns},
};

// More owners of a file are not told of: every rank sends a number for each of them.
constexpr std::size_t most_owners = 256;

// A rank's part of the report, as text: a line with its node, the memory of the caches there, the
// way to other nodes' agents and the number of files; then a line for each file, its counters
// before its name.
std::string serialised(const std::vector<FileStatistics>& files) {
  std::string lines;
  const auto add = [&](int64_t number) { lines.append(std::to_string(number)).append(" "); };
  add(node_identity());
  add(runtime::highest_memory(Scope::node));
  add(runtime::highest_memory(Scope::process));
  add(agent::Lines::of_process().lead_through_own());
  add(std::ssize(files));
  lines += '\n';
  for (const FileStatistics& file : files) {
    for (const Counter& counter : counters) add(file.cached.*counter.value);
    add(file.opens);
    add(file.cached_opens);
    add(file.domain);
    add(file.chunk_bytes);
    for (const int64_t opens : file.uncached_opens) add(opens);
    for (const int64_t calls : file.uncached_calls) add(calls);
    const std::size_t owners = file.owner_bytes.size() > most_owners ? 0 : file.owner_bytes.size();
    add(static_cast<int64_t>(owners));
    for (std::size_t owner = 0; owner < owners; ++owner) add(file.owner_bytes[owner]);
    std::string flat = file.name;
    std::replace(flat.begin(), flat.end(), '\n', ' ');
    lines.append(flat).append("\n");
  }
  return lines;
}

// Removes the number and the blank that the line begins with.
int64_t take_number(std::string_view& line) {
  return whole_number<int64_t>(cut(line, ' ')).value_or(0);
}

FileStatistics parsed_file(std::string_view line) {
  FileStatistics file;
  for (const Counter& counter : counters) file.cached.*counter.value = take_number(line);
  file.opens = take_number(line);
  file.cached_opens = take_number(line);
  file.domain = take_number(line);
  file.chunk_bytes = take_number(line);
  for (int64_t& opens : file.uncached_opens) opens = take_number(line);
  for (int64_t& calls : file.uncached_calls) calls = take_number(line);
  file.owner_bytes.resize(static_cast<std::size_t>(take_number(line)));
  for (int64_t& bytes : file.owner_bytes) bytes = take_number(line);
  file.name = line;
  return file;
}

struct NodeMemory {
  int64_t shared = 0;  // of the cache that the node's processes share; each reports the same cache
  int64_t own = 0;     // of the processes' own caches
};

JobStatistics parsed(const std::string& text, int ranks) {
  JobStatistics job;
  job.ranks = ranks;
  std::map<int64_t, NodeMemory> nodes;
  for (std::string_view lines = text; !lines.empty();) {
    std::string_view head = cut(lines, '\n');
    NodeMemory& memory = nodes[take_number(head)];
    memory.shared = std::max(memory.shared, take_number(head));
    memory.own += take_number(head);
    job.libfabric_ranks += take_number(head) != 0 ? 1 : 0;
    for (int64_t files = take_number(head); files > 0; --files) {
      const FileStatistics file = parsed_file(cut(lines, '\n'));
      entry_of(job.files, file.name).add(file);
    }
  }
  job.nodes = static_cast<int>(nodes.size());
  for (const auto& [node, memory] : nodes)
    job.memory_bytes = std::max(job.memory_bytes, memory.shared + memory.own);
  return job;
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

std::string json_uncached(const FileStatistics& file) {
  std::string text = "{";
  for (std::size_t r = 0; r < uncached_count; ++r) {
    if (file.uncached_opens[r] == 0 && file.uncached_calls[r] == 0) continue;
    text.append(text.size() > 1 ? ", \"" : "\"").append(reason_of(static_cast<Uncached>(r)).name);
    text.append("\": {\"opens\": ").append(std::to_string(file.uncached_opens[r]));
    text.append(", \"calls\": ").append(std::to_string(file.uncached_calls[r])).append("}");
  }
  return text + "}";
}

std::string json_array(const std::vector<int64_t>& numbers) {
  std::string text = "[";
  for (const int64_t number : numbers)
    text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + "]";
}

std::string json_object(const FileStatistics& file) {
  std::string text = "{\"cached\": ";
  text.append(file.cached_opens > 0 ? "true" : "false");
  const auto add = [&](std::string_view name, const std::string& value) {
    text.append(", \"").append(name).append("\": ").append(value);
  };
  add("opens", std::to_string(file.opens));
  add("cached_opens", std::to_string(file.cached_opens));
  add("passed_through", json_uncached(file));
  add("owner_bytes", json_array(file.owner_bytes));
  if (file.domain >= 0) {
    add("domain", json_text(assignments()[static_cast<std::size_t>(file.domain)].name));
    add("chunk_bytes", std::to_string(file.chunk_bytes));
  }
  for (const Counter& counter : counters)
    add(counter.name, std::to_string(file.cached.*counter.value));
  return text + "}";
}

std::string json_of(const JobStatistics& job) {
  std::string text =
      "{\"ranks\": " + std::to_string(job.ranks) + ", \"nodes\": " + std::to_string(job.nodes) +
      ", \"libfabric_ranks\": " + std::to_string(job.libfabric_ranks) + ", \"mpi\": \"" +
      abi_name() + "\", \"memory_bytes\": " + std::to_string(job.memory_bytes) +
      ", \"memory_limit\": " + std::to_string(job.memory_limit_bytes) +
      ", \"total\": " + json_object(job.total()) + ",\n \"files\": {";
  const char* separator = "\n";
  for (const FileStatistics& file : job.files) {
    text += separator + ("  " + json_text(file.name)) + ": " + json_object(file);
    separator = ",\n";
  }
  return text + "\n }}\n";
}

// Replaces a file, so that jobs which end at the same time (a spawned one and its parent) do not
// write into each other's text. What is no file, such as a pipe, is written to.
bool write_whole(const std::string& path, const std::string& text) {
  struct stat there {};
  const bool replaces = stat(path.c_str(), &there) != 0 || S_ISREG(there.st_mode);
  const std::string target = replaces ? path + "." + std::to_string(getpid()) : path;
  std::FILE* const out = std::fopen(target.c_str(), "w");
  if (out == nullptr) return false;
  bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  written = std::fclose(out) == 0 && written;
  if (!replaces) return written;
  if (written && std::rename(target.c_str(), path.c_str()) == 0) return true;
  const int error = errno;
  unlink(target.c_str());
  errno = error;
  return false;
}

void write_json(const std::string& path, const JobStatistics& job) {
  if (write_whole(path, json_of(job))) return;
  std::fprintf(stderr, "forebay: cannot write the statistics to %s: %s\n", path.c_str(),
               std::strerror(errno));
}

// Rank 0 speaks for the job: the other ranks have mostly opened the same files.
void tell_if_nothing_was_cached() {
  int rank = 0;
  mpi().Comm_rank(mpi().comm_world, &rank);
  if (rank != 0 || run_is_watched()) return;
  FileStatistics total;
  const std::vector<FileStatistics> files = statistics_by_file();
  for (const FileStatistics& file : files) total.add(file);
  if (total.cached_opens > 0) return;
  for (const FileStatistics& file : files) {
    for (std::size_t r = 0; r < uncached_count; ++r) {
      const UncachedReason& reason = reason_of(static_cast<Uncached>(r));
      if (file.uncached_opens[r] == 0 || reason.known) continue;
      std::fprintf(stderr, "forebay: no file of rank 0 was cached; %s: %s\n", file.name.c_str(),
                   reason.sentence);
      return;
    }
  }
}

}  // namespace

FileStatistics JobStatistics::total() const {
  FileStatistics total;
  for (const FileStatistics& file : files) total.add(file);
  return total;
}

void report_statistics() {
  const Options& options = process_options();
  if (!options.stats && options.stats_json.empty()) {
    tell_if_nothing_was_cached();
    return;
  }
  const std::string all = gather(mpi().comm_world, serialised(statistics_by_file()));
  const BoundedCache bound = agree_min(mpi().comm_world, bounded_cache());
  const Visibility visibility = latest_visibility();
  int rank = 0;
  int ranks = 0;
  mpi().Comm_rank(mpi().comm_world, &rank);
  mpi().Comm_size(mpi().comm_world, &ranks);
  if (rank != 0) return;
  JobStatistics job = parsed(all, ranks);
  if (bound.bounded()) {
    job.memory_limit_bytes = bound.limit_bytes;
    job.bounded_cache_bytes = bound.cache_bytes;
  }
  job.visibility = visibility;
  if (options.stats) {
    const std::string table = statistics_table(job);
    std::fwrite(table.data(), 1, table.size(), stderr);
  }
  if (!options.stats_json.empty()) write_json(options.stats_json, job);
}

}  // namespace forebay::mpiio
