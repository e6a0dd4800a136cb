// Signatures as bytes, for those who hand them from one process to another: everything, intervals
// too. What is kept in files is signature.proto's.
#pragma once

#include "pattern/signature.h"
#include "trace/bytes.h"

namespace forebay::pattern {

void write(const Signature& signature, trace::ByteWriter& writer);
// False: the bytes are no signature.
bool read(trace::ByteReader& reader, Signature& signature);

}  // namespace forebay::pattern
