#include "mpiio/trace/statistics_table.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <iterator>
#include <numeric>
#include <string_view>
#include <vector>

#include "domain/file_domains.h"

namespace forebay::mpiio {
namespace {

constexpr std::size_t most_columns = 80;
constexpr int name_columns = 20;
constexpr std::size_t most_files = 30;  // in a table
constexpr std::size_t most_reasons = 30;

[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...) {
  std::array<char, 256> text{};
  va_list values;
  va_start(values, format);
  std::vsnprintf(text.data(), text.size(), format, values);
  va_end(values);
  return text.data();
}

// 40000 as 40,000.
std::string number(int64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string counted(int64_t value, const char* one, const char* several) {
  return number(value) + " " + (value == 1 ? one : several);
}

std::string size(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return formatted(unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

std::string mean_size(int64_t bytes, int64_t count) {
  return count == 0 ? "-" : size(static_cast<double>(bytes) / static_cast<double>(count));
}

// A row with its name in front, or with the name on a line of its own if it is longer than its
// column.
std::string named(const std::string& name, const std::string& row) {
  if (name.size() < name_columns) return formatted("%-*s", name_columns, name.c_str()) + row + "\n";
  return name + "\n" + std::string(name_columns, ' ') + row + "\n";
}

// A sentence in lines of at most 80 columns.
std::string wrapped(const std::string& sentence) {
  std::string text;
  std::size_t columns = 0;
  for (std::size_t begin = 0; begin < sentence.size();) {
    const std::size_t end = std::min(sentence.find(' ', begin), sentence.size());
    if (columns > 0 && columns + 1 + end - begin > most_columns) {
      text += "\n  ";
      columns = 2;
    } else if (columns > 0) {
      text += " ";
      ++columns;
    }
    text.append(sentence, begin, end - begin);
    columns += end - begin;
    begin = end + 1;
  }
  return text + "\n";
}

std::string calls_row(const char* direction, int64_t calls, int64_t bytes, int64_t requests,
                      int64_t moved) {
  return formatted("%-5s %10s %10s %10s %10s %10s", direction, number(calls).c_str(),
                   mean_size(bytes, calls).c_str(), number(requests).c_str(),
                   mean_size(moved, requests).c_str(), size(static_cast<double>(moved)).c_str());
}

std::string calls_rows(const std::string& name, const Statistics& s) {
  const int64_t written = s.committed_bytes + s.bypass_written_bytes;
  const int64_t read = s.fetched_bytes + s.bypass_bytes - s.bypass_written_bytes;
  std::string rows;
  if (s.write_calls > 0 || s.write_requests > 0 || s.read_calls + s.read_requests == 0)
    rows +=
        named(name, calls_row("write", s.write_calls, s.write_bytes, s.write_requests, written));
  if (s.read_calls > 0 || s.read_requests > 0)
    rows += named(rows.empty() ? name : "",
                  calls_row("read", s.read_calls, s.read_bytes, s.read_requests, read));
  return rows;
}

std::string pages_row(const std::string& name, const Statistics& s) {
  return named(name, formatted("%10s %11s %9s %9s %8s %8.3f", number(s.hits).c_str(),
                               number(s.misses).c_str(), number(s.evictions).c_str(),
                               number(s.bypass_calls - s.aside_calls).c_str(),
                               number(s.aside_calls).c_str(), static_cast<double>(s.io_ns) / 1e9));
}

// The first files and, if there are several, the sum of all.
std::string rows(const std::vector<FileStatistics>& files,
                 std::string (*row)(const std::string& name, const Statistics& counters)) {
  std::string text;
  Statistics total;
  for (std::size_t f = 0; f < files.size(); ++f) {
    if (f < most_files) text += row(files[f].name, files[f].cached);
    total.add(files[f].cached);
  }
  if (files.size() > most_files)
    text += "and " + number(static_cast<int64_t>(files.size() - most_files)) +
            " more files, which --stats-json tells of\n";
  return files.size() > 1 ? text + row("total", total) : text;
}

std::string tables(const std::vector<FileStatistics>& cached) {
  return named("file", formatted("      %10s %10s %10s %10s %10s", "calls", "mean size", "requests",
                                 "mean size", "moved")) +
         rows(cached, calls_rows) + "\n" +
         named("file", formatted("%10s %11s %9s %9s %8s %8s", "page hits", "page misses", "evicted",
                                 "bypassed", "aside", "I/O s")) +
         rows(cached, pages_row);
}

// Adds a sentence for each reason why the file, or calls on it, went to the library.
void add_reasons(std::vector<std::string>& sentences, const FileStatistics& file) {
  for (std::size_t r = 0; r < uncached_count; ++r) {
    const int64_t opens = file.uncached_opens[r];
    const std::string calls = counted(file.uncached_calls[r], "call", "calls");
    const std::string why = reason_of(static_cast<Uncached>(r)).sentence;
    if (opens > 0)
      sentences.push_back(file.name + " was not cached (" +
                          (opens == file.opens ? "" : number(opens) + " of ") +
                          counted(file.opens, "open", "opens") + ", " + calls + "): " + why);
    else if (file.uncached_calls[r] > 0)
      sentences.push_back(file.name + " was cached, but " + calls + " passed through: " + why);
  }
  const Statistics& s = file.cached;
  if (const int64_t measured = s.aside_calls - s.local_calls; measured > 0)
    sentences.push_back("Forebay stepped aside in " + counted(measured, "call", "calls") + " on " +
                        file.name + ": the cache brought no gain");
  if (s.no_page_calls > 0)
    sentences.push_back(counted(s.no_page_calls, "call", "calls") + " on " + file.name +
                        " went past the cache: there was no shared memory for pages");
}

std::string reasons(const std::vector<FileStatistics>& files) {
  std::vector<std::string> sentences;
  for (const FileStatistics& file : files) add_reasons(sentences, file);
  std::string text;
  for (std::size_t s = 0; s < std::min(sentences.size(), most_reasons); ++s)
    text += wrapped(sentences[s]);
  if (sentences.size() > most_reasons)
    text += "and " + number(static_cast<int64_t>(sentences.size() - most_reasons)) +
            " more of this kind, which --stats-json tells\n";
  return text;
}

// How the file's bytes were assigned to its owners, and why so.
std::string assignment(const FileStatistics& file) {
  if (file.domain < 0) return "";
  const std::string name = assignments()[static_cast<std::size_t>(file.domain)].name;
  const std::string chunk = size(static_cast<double>(file.chunk_bytes));
  const std::string option = "domain=" + name;
  if (name == "region" || name == "dynamic")
    return ", in parts of " + chunk + " of what a collective access moved first (" + option + ")";
  if (name == "first-touch")
    return ", each chunk of " + chunk + " the node that wrote to it first (" + option + ")";
  return (name == "file" ? ", in parts of " : ", in chunks of ") + chunk + " in turn (" + option +
         ")";
}

// Of questions to agents.
std::string by_libfabric(const JobStatistics& job) {
  if (job.libfabric_ranks == 0) return "";
  if (job.libfabric_ranks == job.ranks) return ", over libfabric";
  return ", over libfabric from " + number(job.libfabric_ranks) + " of the ranks";
}

// How evenly the owners of the file with most bytes served them; "": no file has several owners.
std::string balance(const std::vector<FileStatistics>& files) {
  int64_t most = 0;
  std::string sentence;
  for (const FileStatistics& file : files) {
    const std::vector<int64_t>& bytes = file.owner_bytes;
    const int64_t all = std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
    if (bytes.size() < 2 || all <= most) continue;
    most = all;
    const double busiest = static_cast<double>(*std::max_element(bytes.begin(), bytes.end()));
    sentence = number(static_cast<int64_t>(bytes.size())) + " nodes owned the bytes of " +
               file.name + assignment(file) + "; the busiest served " +
               formatted("%.0f", 100 * busiest / static_cast<double>(all)) + " % of " +
               size(static_cast<double>(all)) + ".";
  }
  return sentence;
}

std::string percent(int64_t part, int64_t whole) {
  return formatted("%.0f %%", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

// What fetching ahead was good for; "": nothing was fetched ahead.
std::string fetched_ahead(const Statistics& s) {
  if (s.ahead_pages == 0) return "";
  std::string sentence = counted(s.ahead_pages, "page was", "pages were") + " fetched ahead; " +
                         percent(s.ahead_used_pages, s.ahead_pages) + " of them were used";
  if (s.ahead_late_pages > 0)
    sentence += ", and " + percent(s.ahead_late_pages, s.ahead_used_pages) +
                " of these while they were still on their way";
  return sentence + ".";
}

// Where the bytes of reads were, in a job of several nodes; "": nothing was read.
std::string origins(const Statistics& s) {
  if (s.read_bytes == 0) return "";
  const int64_t own = s.read_bytes - s.read_remote_bytes - s.read_storage_bytes;
  return "Reads found " + percent(std::max<int64_t>(own, 0), s.read_bytes) +
         " of their bytes in the cache of their node, and " +
         percent(std::max<int64_t>(s.read_remote_bytes, 0), s.read_bytes) +
         " in those of other nodes; " + percent(s.read_storage_bytes, s.read_bytes) +
         " came from storage.";
}

// Notes about the whole job, which a reader of the tables should know.
std::vector<std::string> notes(const JobStatistics& job) {
  std::vector<std::string> sentences;
  if (const int64_t calls = job.total().cached.local_calls; calls > 0)
    sentences.push_back(counted(calls, "call", "calls") +
                        ", or parts of them, went straight to a local disk, which serves the first "
                        "calls of an open, and middling ones, as fast from the kernel's memory.");
  if (job.memory_bytes > 0)
    sentences.push_back("Caches took " + size(static_cast<double>(job.memory_bytes)) +
                        " of shared memory at their highest" +
                        (job.nodes > 1 ? ", on the node that took most." : "."));
  if (job.memory_limit_bytes > 0)
    sentences.push_back(
        "The cache was held to " + size(static_cast<double>(job.bounded_cache_bytes)) +
        " a process: on a node it takes a quarter of the " +
        size(static_cast<double>(job.memory_limit_bytes)) + " that the control group may use.");
  const Statistics& total = job.total().cached;
  if (const std::string sentence = fetched_ahead(total); !sentence.empty())
    sentences.push_back(sentence);
  if (total.kept_pages > 0)
    sentences.push_back("Opens found " + counted(total.kept_pages, "page", "pages") +
                        " that an earlier close had left in the cache.");
  if (total.pace_waits > 0)
    sentences.push_back("Ranks waited " + counted(total.pace_waits, "time", "times") +
                        " for ranks that were far behind, so that pages left the cache complete.");
  if (const int64_t bytes = total.exchanged_bytes + total.asked_bytes; bytes > 0)
    sentences.push_back(
        size(static_cast<double>(bytes)) + " of the accesses belonged to other nodes: " +
        size(static_cast<double>(total.exchanged_bytes)) + " went over MPI in collective calls (" +
        counted(total.exchanged_questions, "question", "questions") + "), " +
        size(static_cast<double>(total.asked_bytes)) + " through agents (" +
        number(total.asked_questions) + by_libfabric(job) + ").");
  if (const std::string sentence = origins(total); job.nodes > 1 && !sentence.empty())
    sentences.push_back(sentence);
  if (const std::string sentence = balance(job.files); !sentence.empty())
    sentences.push_back(sentence);
  if (job.visibility == Visibility::at_sync)
    sentences.push_back(std::string("The ranks of a file had caches apart. ") +
                        caches_apart_warning);
  if (job.visibility == Visibility::at_collective_calls)
    sentences.push_back(
        "The nodes of a file handed their bytes over at its collective calls: until then ranks of "
        "other nodes did not see them. HDF5 then needs HDF5_DO_MPI_FILE_SYNC=1, or "
        "consistency=posix.");
  return sentences;
}

// The counters in one sentence.
std::string conclusion(const FileStatistics& total) {
  const Statistics& s = total.cached;
  const int64_t passed =
      std::accumulate(total.uncached_calls.begin(), total.uncached_calls.end(), int64_t{0});
  const int64_t calls = s.write_calls + s.read_calls;
  const int64_t requests = s.write_requests + s.read_requests;
  std::string text = counted(calls, "call", "calls") + (requests < calls ? " became " : " made ") +
                     counted(requests, "request", "requests");
  if (passed > 0) text += ", and " + number(passed) + " more passed through";
  // A call counts as past the cache as soon as one of its runs is, so the bytes are looked at, too.
  if (2 * s.bypass_bytes > s.write_bytes + s.read_bytes) {
    if (2 * s.local_calls > calls) return text + "; most went straight to the local disk.";
    if (2 * s.aside_calls > calls) return text + "; Forebay stepped aside in most of them.";
    if (2 * s.bypass_calls > calls)
      return text + "; most were so large that they went past the cache.";
  }
  if (s.evictions == 0) return text + "; the cache was large enough.";
  return text + "; " + number(100 * s.evictions / std::max<int64_t>(s.misses, s.evictions)) +
         " % of the pages had to leave for others: a larger cache_size may keep them.";
}

}  // namespace

std::string statistics_table(const JobStatistics& job) {
  std::vector<FileStatistics> cached;
  std::copy_if(job.files.begin(), job.files.end(), std::back_inserter(cached),
               [](const FileStatistics& file) { return file.cached_opens > 0; });
  std::string text = "forebay: " + counted(job.ranks, "rank", "ranks") + " on " +
                     counted(job.nodes, "node", "nodes") + ", all ranks summed\n";
  if (!cached.empty()) text += tables(cached);
  text += reasons(job.files);
  for (const std::string& sentence : notes(job)) text += wrapped(sentence);
  if (job.files.empty()) return text + "No file was opened through MPI-IO.\n";
  if (cached.empty()) return text + "No file was cached.\n";
  return text + wrapped(conclusion(job.total()));
}

}  // namespace forebay::mpiio
