// Storage "posix": a file reached by pwritev and preadv. Takes no lock of any kind (closing any
// descriptor would drop the process's own) and never reads in order to write.
#pragma once

#include <string>

#include "storage/storage.h"
#include "storage/system_calls.h"

namespace forebay {

// Opens the file `path` names, which must exist. `calls` must outlive the storage.
OpenedStorage open_posix_with(SystemCalls& calls, const std::string& path, bool readable,
                              bool writable);

// The same with the operating system's own calls.
OpenedStorage open_posix(const std::string& path, bool readable, bool writable);

}  // namespace forebay
