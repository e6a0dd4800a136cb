#include "mpiio/hints.h"

#include <array>
#include <cstdio>
#include <optional>
#include <string>

#include "mpiio/job.h"

namespace forebay::mpiio {
namespace {

std::string hint_name(const OptionSpec& option) { return std::string("forebay_") + option.name; }

std::optional<std::string> hint(MPI_Info info, const OptionSpec& option) {
  if (!option.per_file) return std::nullopt;
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int given = 0;
  const int code =
      mpi().Info_get(info, hint_name(option).c_str(), MPI_MAX_INFO_VAL, value.data(), &given);
  if (code != MPI_SUCCESS || !given) return std::nullopt;
  return std::string(value.data());
}

}  // namespace

Options file_options(MPI_Info info) {
  Options options = process_options();
  if (info == mpi().info_null) return options;
  // Hints that make no sense are ignored, as the standard has it.
  apply_options(
      options, [info](const OptionSpec& option) { return hint(info, option); },
      [](std::string_view) {});
  return options;
}

int get_info(Handle& handle, MPI_Info* info) {
  const int code = mpi().File_get_info(handle.file, info);
  if (code != MPI_SUCCESS) return code;
  const Options& options = handle.cached->options();
  for (const OptionSpec& option : option_table())
    if (option.per_file)
      mpi().Info_set(*info, hint_name(option).c_str(), option_text(options, option).c_str());
  return MPI_SUCCESS;
}

}  // namespace forebay::mpiio
