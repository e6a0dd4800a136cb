/* The public C interface of Forebay, for programs that are linked with it or ask for it by name,
 * with dlsym. None is needed to run through Forebay; nothing here depends on an MPI. The statistics
 * may be asked for where MPI may be called, the rest at any time and by any thread. */
#ifndef FOREBAY_FOREBAY_H
#define FOREBAY_FOREBAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What this process's MPI-IO has done through the cache so far, open files included. */
struct forebay_statistics {
  int64_t write_calls, read_calls;       /* accesses handed to the cache */
  int64_t write_bytes, read_bytes;       /* by those */
  int64_t hits, misses, evictions;       /* pages */
  int64_t write_requests, read_requests; /* contiguous file extents handed to storage */
  int64_t committed_bytes;               /* written back */
  int64_t io_ns;                         /* time in reads and writes, a sampled estimate */
};

/* Fills the structure with the totals of this process. */
void forebay_get_statistics(struct forebay_statistics* statistics);

/* One option that can be given as a hint in an MPI_Info. The texts live as long as the process. */
struct forebay_hint {
  const char* name;          /* the key, "forebay_page_size" */
  const char* default_value; /* as one would write it */
  const char* choices;       /* "process|node", or "" where any value of its kind will do */
  const char* meaning;       /* one sentence */
};

/* Describes hint number `index` (from 0). Returns 0, or -1 when there are not that many. */
int forebay_describe_hint(size_t index, struct forebay_hint* hint);

/* The MPI ABI this interposer was built for: "mpich", "mpiabi" or "openmpi". */
const char* forebay_abi(void);

#ifdef __cplusplus
}
#endif

#endif
