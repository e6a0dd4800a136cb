// Delta page (Settlemyer 4.1.2): filled from storage before a partial write, so that a resident
// page is whole; written back as differences, that is, its dirty regions only. Where the twin page
// of the original (after TreadMarks) finds the differences by comparing bytes, the dirty mask knows
// them, costs three eighths of a twin and keeps unchanged but written bytes in one contiguous
// region.
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
