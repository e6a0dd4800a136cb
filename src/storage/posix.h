// Storage "posix": a file accessed by pwritev and preadv. It takes no file locks (closing any
// descriptor of the file would drop the program's own locks) and never reads in order to write.
#pragma once

#include <string>

#include "storage/storage.h"
#include "storage/system_calls.h"

namespace forebay {

// Opens the existing file `path`. `calls` must outlive the storage.
OpenedStorage open_posix_with(SystemCalls& calls, const std::string& path, bool readable,
                              bool writable);

// The same with the operating system's calls.
OpenedStorage open_posix(const std::string& path, bool readable, bool writable);

}  // namespace forebay
