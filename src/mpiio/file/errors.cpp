#include "mpiio/file/errors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <vector>

namespace forebay::mpiio {
namespace {

int class_of(Code code) {
  switch (code) {
    case Code::ok:
      return MPI_SUCCESS;
    case Code::no_space:
      return MPI_ERR_NO_SPACE;
    case Code::quota:
      return MPI_ERR_QUOTA;
    case Code::no_memory:
      return MPI_ERR_NO_MEM;
    case Code::access:
      return MPI_ERR_ACCESS;
    case Code::no_such_file:
      return MPI_ERR_NO_SUCH_FILE;
    case Code::bad_argument:
      return MPI_ERR_ARG;
    case Code::unsupported:
      return MPI_ERR_UNSUPPORTED_OPERATION;
    case Code::io:
    case Code::network:
    case Code::node_lost:
      break;
  }
  return MPI_ERR_IO;
}

// The error codes made for one class. Codes cannot be given back to MPI, so a class has only a few,
// which are used in turn: the texts of the latest errors stay readable.
struct CodesOfClass {
  int error_class;
  std::vector<int> codes;
  std::size_t next = 0;
};
constexpr std::size_t codes_a_class = 16;

std::mutex codes_mutex;

int take_code(int error_class) {
  static std::vector<CodesOfClass> classes;
  auto entry = std::find_if(classes.begin(), classes.end(), [error_class](const CodesOfClass& c) {
    return c.error_class == error_class;
  });
  if (entry == classes.end()) entry = classes.insert(entry, CodesOfClass{error_class, {}});
  if (entry->codes.size() < codes_a_class) {
    int code = error_class;
    if (mpi().Add_error_code(error_class, &code) != MPI_SUCCESS) return error_class;
    entry->codes.push_back(code);
    return code;
  }
  entry->next = (entry->next + 1) % codes_a_class;
  return entry->codes[entry->next];
}

std::string sentence(const Handle& handle, const Status& status, const char* doing) {
  std::string text = std::string("Forebay: ") + describe(status.code) + " while " + doing + " \"" +
                     handle.name + "\"";
  if (status.offset >= 0) text += " at offset " + std::to_string(status.offset);
  if (status.system_error != 0) {
    char buffer[128];
    text += std::string(" (") + strerror_r(status.system_error, buffer, sizeof buffer) + ")";
  }
  return text;
}

// A code with the text; the class itself if the library gives no more codes, or memory is refused.
int error_code(int error_class, const std::string& text) {
  const std::lock_guard guard(codes_mutex);
  int code = error_class;
  const Status taken = within_memory([&] { code = take_code(error_class); });
  if (!taken.ok() || code == error_class) return error_class;
  std::array<char, MPI_MAX_ERROR_STRING> bounded{};
  text.copy(bounded.data(), bounded.size() - 1);
  mpi().Add_error_string(code, bounded.data());
  return code;
}

}  // namespace

QuietErrors::QuietErrors(Handle& handle) : file_(handle.file) {
  mpi().File_get_errhandler(file_, &users_);
  mpi().File_set_errhandler(file_, mpi().errors_return);
}

QuietErrors::~QuietErrors() {
  mpi().File_set_errhandler(file_, users_);
  const bool predefined_handler = users_ == mpi().errors_return ||
                                  users_ == mpi().errors_are_fatal || users_ == mpi().errors_abort;
  if (!predefined_handler) mpi().Errhandler_free(&users_);
}

int raise(Handle& handle, int error_class, const std::string& text) {
  const int code = error_code(error_class, text);
  mpi().File_call_errhandler(handle.file, code);
  return code;
}

int raise(Handle& handle, const Status& status, const char* doing) {
  if (status.ok()) return MPI_SUCCESS;
  int code = class_of(status.code);
  const Status described =
      within_memory([&] { code = error_code(code, sentence(handle, status, doing)); });
  (void)described;  // without memory, the class is the code
  mpi().File_call_errhandler(handle.file, code);
  return code;
}

}  // namespace forebay::mpiio
