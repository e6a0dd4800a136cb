// The messages of src/pattern/signature.proto as Python dictionaries.
#pragma once

#include <nanobind/nanobind.h>

#include "pattern/global.h"
#include "pattern/signature.h"

namespace forebay {

// Values by the name of their field.
using Values = nanobind::typed<nanobind::dict, nanobind::str, nanobind::any>;

Values message_of(const pattern::Signature& signature);
Values message_of(const pattern::GlobalSignature& signature);

}  // namespace forebay
