#include "sim/cluster/own_stack.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FOREBAY_WATCHED_MEMORY
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define FOREBAY_WATCHED_MEMORY
#endif
#ifdef FOREBAY_WATCHED_MEMORY
#include <sanitizer/asan_interface.h>
#endif

// Address sanitizers and shadow stacks follow swapcontext, but not a switch of our own.
#if defined(FOREBAY_WATCHED_MEMORY) || (defined(__CET__) && (__CET__ & 2) != 0)
#define FOREBAY_FOLLOWED_STACKS
#endif

// forebay_switch_stacks(left, entered) puts the registers that a function keeps for its caller on
// the stack, and the stack pointer into *left; then it goes on with what such a call has left.
#if defined(__x86_64__) && !defined(FOREBAY_FOLLOWED_STACKS)
#define FOREBAY_LEFT_WORDS 8  // by the call, and one so that `main` finds the stack aligned
#define FOREBAY_RETURN_WORD 6
asm(R"(
        .pushsection .text.forebay_switch_stacks, "ax", %progbits
        .globl  forebay_switch_stacks
        .hidden forebay_switch_stacks
        .type   forebay_switch_stacks, %function
forebay_switch_stacks:
        pushq   %rbp
        pushq   %rbx
        pushq   %r12
        pushq   %r13
        pushq   %r14
        pushq   %r15
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbx
        popq    %rbp
        ret
        .size   forebay_switch_stacks, . - forebay_switch_stacks
        .popsection
)");
#endif

namespace forebay::sim {
namespace {

constexpr std::size_t own_stack_bytes = 256 << 10;

#ifdef FOREBAY_LEFT_WORDS
extern "C" [[gnu::visibility("hidden")]] void forebay_switch_stacks(void** left, void* entered);
void switch_stacks(void** left, void* entered) { forebay_switch_stacks(left, entered); }

// What a call that returns to the begin of `main` would have left.
void* begin_of(void (*main)(), std::byte* stack) {
  // Stacks are a power of two apart. Were their ends, too, few lines of a cache could hold them.
  const std::size_t apart = reinterpret_cast<uintptr_t>(stack) / own_stack_bytes % 16 * 256;
  void** const left =
      reinterpret_cast<void**>(stack + own_stack_bytes - apart) - FOREBAY_LEFT_WORDS;
  left[FOREBAY_RETURN_WORD] = reinterpret_cast<void*>(main);
  return left;
}
#else
void switch_stacks(void** left, void* entered) {
  ucontext_t here;
  *left = &here;
  swapcontext(&here, static_cast<ucontext_t*>(entered));
}

void* begin_of(void (*main)(), std::byte* stack) {
  auto* const context = new (stack) ucontext_t{};
  getcontext(context);
  context->uc_stack.ss_sp = stack + sizeof(ucontext_t);
  context->uc_stack.ss_size = own_stack_bytes - sizeof(ucontext_t);
  makecontext(context, main, 0);
  return context;
}
#endif

}  // namespace

OwnStack::OwnStack(void (*main)()) {
  // Memory that is not touched costs nothing: there may be thousands of stacks.
  void* const memory = mmap(nullptr, own_stack_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<std::byte*>(memory);
  inside_ = begin_of(main, memory_);
}

OwnStack::~OwnStack() {
#ifdef FOREBAY_WATCHED_MEMORY
  // What `main` has left on the stack is still marked. Other memory may get its addresses.
  __asan_unpoison_memory_region(memory_, own_stack_bytes);
#endif
  munmap(memory_, own_stack_bytes);
}

void OwnStack::enter() { switch_stacks(&outside_, inside_); }
void OwnStack::leave() { switch_stacks(&inside_, outside_); }

}  // namespace forebay::sim
