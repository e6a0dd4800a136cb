// The table of page kinds. Options, hints, simulators, tests and documentation use it.
#include "page/delta.h"
#include "page/mask.h"
#include "page/page_kind.h"
#include "page/tree.h"

namespace forebay {
namespace {

constinit const MaskPage mask;
constinit const TreePage tree;
constinit const DeltaPage delta;

constexpr const PageKind* kinds[] = {&mask, &tree, &delta};

}  // namespace

std::span<const PageKind* const> page_kinds() { return kinds; }

const PageKind* find_page_kind(std::string_view name) {
  for (const PageKind* kind : kinds) {
    if (kind->name() == name) return kind;
  }
  return nullptr;
}

}  // namespace forebay
