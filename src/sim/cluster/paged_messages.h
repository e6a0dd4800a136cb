// Bytes of the messages of a file system whose clients keep pages, about: requests and answers of
// Lustre, with their headers.
#pragma once

#include <cstdint>

namespace forebay::sim::paged_messages {

inline constexpr int64_t request_bytes = 400, response_bytes = 300, extent_bytes = 16;
inline constexpr int64_t grant_bytes = 64;  // the server asks for the bytes of a write
inline constexpr int64_t lock_bytes = 400, callback_bytes = 300;
inline constexpr int64_t metadata_request_bytes = 600, metadata_response_bytes = 500;
inline constexpr int64_t listed_entry_bytes = 64;  // of a directory

}  // namespace forebay::sim::paged_messages
