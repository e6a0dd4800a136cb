// What libforebay_earlier.so offers the interposers: the reads of an earlier run, from its trace.
// It is a library of its own, which an interposer loads only with the option predict_from, so that
// no other program carries what reads traces.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay::earlier {

inline constexpr const char* library_name = "libforebay_earlier.so";
inline constexpr const char* entry_name = "forebay_earlier_reads";

// Takes what the process read through its next open of `file`, as a signature's code
// (pattern/signature_code.h); no bytes: nothing.
using Take = void (*)(void* taker, const char* file, const std::byte* code, std::size_t bytes);

// Reads the trace of the process with this rank in the folder, and hands each of its opens to
// `take`, in order. `problem`: room for a text of so many characters that says why there is
// nothing, or what the trace lacks; "" if it is complete. False: there is nothing.
using Entry = bool(const char* folder, int64_t rank, Take take, void* taker, char* problem,
                   std::size_t room);

}  // namespace forebay::earlier
