// The interface of inject.c, which a program finds by dlsym. Calls that Forebay makes fail, are cut
// short, or are the last ones of the process.
#pragma once

// Kinds of calls, as bits: on the file under test, on Forebay's shared memory, allocations.
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

// The nth call from now on (1: the next) of a kind in `calls`, and the calls after it (`count` in
// all; 0: without end), have the effect `how`; a failing call has the errno `error`. `file`:
// absolute path of the file under test; null: any file. Replaces an earlier request, but a fault
// and a kill may be armed together.
typedef void inject_arm_function(const char* file, int calls, long nth, long count, int error,
                                 int how);
// Disarms the fault and returns how often it occurred. A kill stays armed.
typedef long inject_disarm_function(void);
