// The messages of src/pattern/signature.proto as plain values of Python.
#pragma once

#include <nanobind/nanobind.h>

#include "pattern/global.h"
#include "pattern/signature.h"

namespace forebay {

// By name.
using Values = nanobind::typed<nanobind::dict, nanobind::str, nanobind::any>;

Values message_of(const pattern::Signature& signature);
Values message_of(const pattern::GlobalSignature& signature);

}  // namespace forebay
