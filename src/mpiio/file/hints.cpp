#include "mpiio/file/hints.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "extent/text.h"
#include "mpiio/file/visibility.h"
#include "mpiio/job/job.h"
#include "mpiio/job/mistakes.h"

namespace forebay::mpiio {
namespace {

constexpr std::string_view prefix = "forebay_";

// The hints in `info` whose names begin with Forebay's prefix, known or not.
std::vector<Given> given_in(MPI_Info info) {
  std::vector<Given> given;
  int keys = 0;
  if (info == mpi().info_null || mpi().Info_get_nkeys(info, &keys) != MPI_SUCCESS) return given;
  for (int k = 0; k < keys; ++k) {
    std::array<char, MPI_MAX_INFO_KEY + 1> key{};
    std::array<char, MPI_MAX_INFO_VAL + 1> value{};
    int found = 0;
    if (mpi().Info_get_nthkey(info, k, key.data()) != MPI_SUCCESS) continue;
    if (strncasecmp(key.data(), prefix.data(), prefix.size()) != 0) continue;
    const int code = mpi().Info_get(info, key.data(), MPI_MAX_INFO_VAL, value.data(), &found);
    if (code == MPI_SUCCESS && found) given.push_back({key.data(), value.data()});
  }
  return given;
}

// The value of the standard's own hint for the number of owners; 0: it is not given, or is no such
// number. Libraries take other values, too, so none is a mistake.
int64_t reserved_cb_nodes(MPI_Info info) {
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int found = 0;
  if (info == mpi().info_null ||
      mpi().Info_get(info, "cb_nodes", MPI_MAX_INFO_VAL, value.data(), &found) != MPI_SUCCESS ||
      !found)
    return 0;
  return std::max<int64_t>(whole_number<int64_t>(value.data()).value_or(0), 0);
}

Complain noting(Mistakes& mistakes, const std::string& file) {
  return [&mistakes, &file](const Mistake& mistake) { mistakes.push_back({file, mistake.line()}); };
}

}  // namespace

Options file_options(MPI_Info info, const std::string& file, Mistakes& mistakes) {
  Options options = process_options();
  const Complain complain = noting(mistakes, file);
  apply_options(options, given_in(info), Notation::hint, Settable::at_open, complain);
  fit_sizes(options, Notation::hint, complain);
  if (options.cb_nodes == 0) options.cb_nodes = reserved_cb_nodes(info);
  return options;
}

void keep_to_calls(Options& options) {
  if (options.storage != "mpi" || many_threads.load()) return;
  options.write_behind = false;
  options.read_ahead_bytes = 0;
}

std::optional<Options> changed_options(const Handle& handle, MPI_Info info, Mistakes& mistakes) {
  const std::vector<Given> given = given_in(info);
  if (given.empty()) return std::nullopt;
  const Complain complain = noting(mistakes, handle.name);
  Options wanted = handle.cached->options();
  apply_options(wanted, given, Notation::hint, Settable::any_time, complain);
  Options options = wanted;
  keep_to_calls(options);
  for (const OptionSpec& option : option_table()) {
    const std::string kept = option_text(options, option), asked = option_text(wanted, option);
    if (kept != asked)
      complain(
          {written(option, Notation::hint) + "=" + asked + " needs threads where storage is mpi",
           kept + " stays", "ask MPI_Init_thread for MPI_THREAD_MULTIPLE"});
  }
  return options;
}

int set_info(Handle& handle, MPI_Info info) {
  const int code = mpi().File_set_info(handle.file, info);
  if (code != MPI_SUCCESS) return code;
  const HandleLock lock(handle);
  if (const auto options = changed_options(handle, info, handle.mistakes))
    handle.cached->change_options(*options);
  // Ranks on several nodes tell their mistakes in a later call in which they agree anyway: this
  // call waits for no rank.
  if (handle.one_node || handle.rank == 0) tell(std::exchange(handle.mistakes, {}));
  return MPI_SUCCESS;
}

int get_info(Handle& handle, MPI_Info* info) {
  const int code = mpi().File_get_info(handle.file, info);
  if (code != MPI_SUCCESS) return code;
  const HandleLock lock(handle);
  const Options& options = handle.cached->options();
  for (const OptionSpec& option : option_table())
    if (option.per_file())
      mpi().Info_set(*info, written(option, Notation::hint).c_str(),
                     option_text(options, option).c_str());
  tell_visibility(handle, *info);
  return MPI_SUCCESS;
}

}  // namespace forebay::mpiio
