// Delta page (Settlemyer 4.1.2). It is filled from storage before a partial write, so a resident
// page is complete, and only its dirty regions are written back. Settlemyer finds the differences
// by comparing the page with a twin, a copy of the original (after TreadMarks). Here the dirty mask
// records them: the masks take three eighths of a twin's memory, and bytes written without a change
// do not divide a region.
#pragma once

#include "page/mask.h"

namespace forebay {

class DeltaPage final : public MaskPage {
 public:
  std::string_view name() const override { return "delta"; }
  std::string_view meaning() const override {
    return "filled from storage before a partial write, written back as differences";
  }
  bool fill_before_write() const override { return true; }
};

}  // namespace forebay
