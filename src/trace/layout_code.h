// Layouts and views as bytes: the tree as it stands, a node after the other.
#pragma once

#include "extent/layout.h"
#include "trace/bytes.h"

namespace forebay {

class LayoutCode {
 public:
  static void write(const Layout& layout, trace::ByteWriter& writer);
  // nullptr: the bytes describe no layout.
  static LayoutRef read(trace::ByteReader& reader, int level = 0);

  static void write(const Tiling& tiling, trace::ByteWriter& writer);
  // Without a layout: the bytes describe none.
  static Tiling read_tiling(trace::ByteReader& reader);

 private:
  static constexpr int most_levels = 1000;
};

}  // namespace forebay
