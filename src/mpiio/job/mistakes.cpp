#include "mpiio/job/mistakes.h"

#include <atomic>
#include <cstdio>
#include <string_view>

#include "extent/status.h"
#include "extent/text.h"
#include "mpiio/job/job.h"
#include "mpiio/job/told_lines.h"
#include "mpiio/library/gather.h"

namespace forebay::mpiio {
namespace {

void print(const ToldMistake& mistake) {
  const std::string where =
      mistake.file.empty() ? "" : "hints of " + printable(mistake.file) + ": ";
  std::fprintf(stderr, "forebay: %s%s\n", where.c_str(), mistake.line.c_str());
}

// One line for each mistake: file, tab, line.
std::string serialised(const Mistakes& mistakes) {
  std::string lines;
  for (const ToldMistake& mistake : mistakes)
    lines.append(printable(mistake.file)).append("\t").append(mistake.line).append("\n");
  return lines;
}

Mistakes parsed(const std::string& text) {
  Mistakes mistakes;
  for (std::string_view lines = text; !lines.empty();) {
    std::string_view line = cut(lines, '\n');
    const std::string file(cut(line, '\t'));
    mistakes.push_back({file, std::string(line)});
  }
  return mistakes;
}

Mistakes mistakes_of_environment() {
  Mistakes mistakes;
  for (const std::string& line : environment_mistakes()) mistakes.push_back({"", line});
  return mistakes;
}

}  // namespace

void tell(const Mistakes& mistakes) {
  for (const ToldMistake& mistake : mistakes) {
    // The rank that speaks for the job has the environment's mistakes, too.
    if (mistake.file.empty() && !speaks_for_job()) continue;
    if (is_new_here(mistake.line) && (mistake.file.empty() || is_new_on_node(mistake.line)))
      print(mistake);
  }
}

void tell_together(MPI_Comm comm, Mistakes& mistakes) {
  std::string mine;
  const Status had_memory = within_memory([&] { mine = serialised(mistakes); });
  mistakes.clear();
  (void)had_memory;  // then this rank's mistakes are not told
  const std::string all = gather(comm, mine);
  const Status told = within_memory([&] { tell(parsed(all)); });
  (void)told;
}

void tell_of_environment() {
  static std::atomic<bool> asked{false};
  if (!asked.exchange(true) && speaks_for_job()) tell(mistakes_of_environment());
}

Mistakes to_tell_of_environment(MPI_Comm comm) {
  static std::atomic<bool> handed_over{false};
  if (environment_mistakes().empty() || handed_over.load()) return {};
  return has_all_ranks(comm) && !handed_over.exchange(true) ? mistakes_of_environment()
                                                            : Mistakes{};
}

}  // namespace forebay::mpiio
