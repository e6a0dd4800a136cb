// What inject.c does for a program that it is preloaded into beside Forebay: calls that Forebay
// itself makes fail, are cut short, or are the process's last. The functions are found by dlsym.
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
  INJECT_FAIL,         // the call fails
  INJECT_FAIL_HALF,    // a transfer fails with half of its bytes moved
  INJECT_HALF,         // a transfer moves half of its bytes
  INJECT_KILL_BEFORE,  // SIGKILL instead of the call
  INJECT_KILL_AFTER,   // or after it
  INJECT_KILL_HALF,    // or after half of its bytes
};

// The nth call from now on (1: the next) of any kind in `calls`, and those after it, `count` in all
// or without end (0), meet `how`, failing with `error`. `file`: the absolute path of the file under
// test; null: any file. Replaces what was armed, but a fault and a kill may be armed together.
typedef void inject_arm_function(const char* file, int calls, long nth, long count, int error,
                                 int how);
// Nothing more fails; how often something did. A kill stays armed.
typedef long inject_disarm_function(void);
