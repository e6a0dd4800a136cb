#include "earlier/interface.h"

#include <cstdio>
#include <string>
#include <type_traits>

#include "earlier/earlier_reads.h"
#include "extent/status.h"
#include "pattern/signature_code.h"

extern "C" __attribute__((visibility("default"))) bool forebay_earlier_reads(
    const char* folder, int64_t rank, forebay::earlier::Take take, void* taker, char* problem,
    std::size_t room) {
  using namespace forebay;
  bool any = false;
  std::string why;
  const Status had_memory = within_memory([&] {
    for (const earlier::OpenReads& open : earlier::reads_of_rank(folder, rank, &why)) {
      trace::Bytes code;
      trace::ByteWriter writer(code);
      if (open.reads.accesses > 0) pattern::write(open.reads, writer);
      take(taker, open.file.c_str(), code.data(), code.size());
      any = true;
    }
  });
  std::snprintf(problem, room, "%s", had_memory.ok() ? why.c_str() : "there is no memory for it");
  return any && had_memory.ok();
}

// The interposers call it through this type.
static_assert(std::is_same_v<decltype(forebay_earlier_reads), forebay::earlier::Entry>);
