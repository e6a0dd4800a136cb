// What inject.c (tests/faults) does for a program that it is preloaded into beside Forebay: calls
// that Forebay itself makes fail, are cut short, or are the process's last. The functions are found
// by dlsym.
#pragma once

// Kinds of calls, as bits: of the file under test, of Forebay's shared memory, of memory.
enum {
  INJECT_WRITE = 1,
  INJECT_READ = 2,
  INJECT_FSYNC = 4,
  INJECT_SIZE = 8,  // fstat, stat, statx
  INJECT_OPEN = 16,
  INJECT_CLOSE = 32,
  INJECT_STORAGE = 63,
  INJECT_SEGMENT = 64,
  INJECT_ALLOCATION = 128,
};

enum {
  INJECT_ONCE,           // the nth call fails
  INJECT_FOR_EVER,       // so do all after it
  INJECT_HALF,           // the nth transfer moves half of its bytes
  INJECT_HALF_FOR_EVER,  // so do all after it
  INJECT_KILL_BEFORE,    // SIGKILL instead of the nth call
  INJECT_KILL_AFTER,     // or after it
  INJECT_KILL_HALF,      // or after half of its bytes
};

// The nth call from now on (1: the next) of any kind in `calls` meets `how`, failing with `error`.
// `file`: the absolute path of the file under test.
typedef void inject_arm_function(const char* file, int calls, long nth, int error, int how);
// Nothing more happens; how often something did.
typedef long inject_disarm_function(void);
