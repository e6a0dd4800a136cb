// Signatures as bytes, complete with intervals, to pass them between processes. Files contain the
// messages of signature.proto instead.
#pragma once

#include "pattern/signature.h"
#include "trace/bytes.h"

namespace forebay::pattern {

void write(const Signature& signature, trace::ByteWriter& writer);
// False: the bytes are no signature.
bool read(trace::ByteReader& reader, Signature& signature);

}  // namespace forebay::pattern
