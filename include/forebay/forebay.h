/* The public C interface of Forebay, for programs that link with an interposer or look these
 * functions up by dlsym. A program needs none of them to run with Forebay. Nothing here depends on
 * an MPI. forebay_get_statistics() may be called where MPI may be called, the other functions at
 * any time by any thread. */
#ifndef FOREBAY_FOREBAY_H
#define FOREBAY_FOREBAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The MPI-IO of this process through the cache so far, open files included. */
struct forebay_statistics {
  int64_t write_calls, read_calls;       /* accesses through the cache */
  int64_t write_bytes, read_bytes;       /* bytes of these accesses */
  int64_t hits, misses, evictions;       /* of pages */
  int64_t write_requests, read_requests; /* requests to storage: contiguous file extents */
  int64_t committed_bytes;               /* bytes written back to storage */
  int64_t io_ns;                         /* nanoseconds in reads and writes, estimated by samples */
};

/* Fills *statistics (not NULL) with the totals of this process. */
void forebay_get_statistics(struct forebay_statistics* statistics);

/* An option that an MPI_Info can give as a hint. The texts live as long as the process. */
struct forebay_hint {
  const char* name;          /* key of the hint: "forebay_page_size" */
  const char* default_value; /* as a user would write it: "64KiB" */
  const char* choices;       /* the accepted values: "process|node"; "": not a choice of values */
  const char* meaning;       /* one sentence */
};

/* Describes hint number `index`, counted from 0, in *hint (not NULL). Returns 0; or -1 if there is
 * no such hint, and *hint is unchanged. To list all hints, count up until -1. */
int forebay_describe_hint(size_t index, struct forebay_hint* hint);

/* The MPI ABI that this interposer was built for: "mpich", "mpiabi" or "openmpi". The text lives as
 * long as the process. */
const char* forebay_abi(void);

#ifdef __cplusplus
}
#endif

#endif
