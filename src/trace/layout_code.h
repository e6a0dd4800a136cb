// Layouts as bytes: the tree as it stands, a node after the other.
#pragma once

#include "extent/layout.h"
#include "trace/bytes.h"

namespace forebay {

class LayoutCode {
 public:
  static void write(const Layout& layout, trace::ByteWriter& writer);
  // nullptr: the bytes describe no layout.
  static LayoutRef read(trace::ByteReader& reader, int level = 0);

 private:
  static constexpr int most_levels = 1000;
};

}  // namespace forebay
