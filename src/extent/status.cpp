#include "extent/status.h"

#include <cerrno>
#include <cstring>

namespace forebay {

Status Status::from_errno(int error, int64_t offset) {
  switch (error) {
    case 0:
      return {};
    case ENOSPC:
    case EFBIG:
      return {Code::no_space, error, offset};
    case EDQUOT:
      return {Code::quota, error, offset};
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return {Code::no_memory, error, offset};
    case EACCES:
    case EPERM:
    case EROFS:
      return {Code::access, error, offset};
    case ENOENT:
      return {Code::no_such_file, error, offset};
    case EINVAL:
      return {Code::bad_argument, error, offset};
    default:
      return {Code::io, error, offset};
  }
}

const char* describe(Code code) {
  switch (code) {
    case Code::ok:
      return "success";
    case Code::io:
      return "the storage failed";
    case Code::no_space:
      return "no space left on the storage";
    case Code::quota:
      return "the quota on the storage is exhausted";
    case Code::no_memory:
      return "memory, shared memory or file descriptors were refused";
    case Code::access:
      return "permission denied";
    case Code::no_such_file:
      return "no such file";
    case Code::bad_argument:
      return "invalid argument";
    case Code::unsupported:
      return "not supported";
    case Code::network:
      return "a message could not be sent";
    case Code::node_lost:
      return "a node of the job is dead";
  }
  return "unknown";
}

std::string cause(const Status& status) {
  if (status.ok()) return "";
  return status.system_error != 0 ? std::strerror(status.system_error) : describe(status.code);
}

}  // namespace forebay
