// Layouts and views as bytes: the nodes of the layout's tree, one after the other.
#pragma once

#include "extent/layout.h"
#include "trace/bytes.h"

namespace forebay {

class LayoutCode {
 public:
  static void write(const Layout& layout, trace::ByteWriter& writer);
  // nullptr: the bytes are no layout.
  static LayoutRef read(trace::ByteReader& reader, int level = 0);

  static void write(const Tiling& tiling, trace::ByteWriter& writer);
  // A tiling without layout: the bytes are no view.
  static Tiling read_tiling(trace::ByteReader& reader);

 private:
  static constexpr int most_levels = 1000;
};

}  // namespace forebay
