/* What storage_faults.c offers; random_io finds it by dlsym. */
#pragma once

#include <stdint.h>

enum StorageCall { kWriteCall = 1, kReadCall = 2, kFlushCall = 4 };

/* Of the calls of these kinds from now on, the `nth` (1: the next) and all until `count` have
 * failed (0: all) return `error`. */
typedef void StorageFaultsFail(int calls, int64_t nth, int64_t count, int error);
/* The `nth` call from now of any kind is not made: the process is killed. */
typedef void StorageFaultsKill(int64_t nth);
typedef void StorageFaultsHeal(void);
