// MPI data types of the tester: a textual description ("vec(3,2,5;i4)"); the bytes that it selects,
// computed from the definitions of MPI 4.1, section 5.1, without the MPI library; and the MPI
// handle built from the description.
//
//   b1 i4 d8                    MPI_BYTE, MPI_INT, MPI_DOUBLE
//   dup(;T)  con(n;T)           vec(n,length,stride;T)   hvec(n,length,stride_bytes;T)
//   idx(l,d,l,d...;T)           hidx(l,bytes,...;T)      idxb(l,d,d...;T)   hidxb(l,bytes,...;T)
//   str(l,bytes,...;T;T...)     sub(order,size,subsize,start,...;T)
//   dar(order,ranks,rank,size,distribution,argument,processes,...;T)        res(lb,extent;T)
//
// order is 0 for C and 1 for Fortran; distribution 0 none, 1 block, 2 cyclic; argument -1 default.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "random_source.h"

namespace random_io {

struct Run {
  int64_t offset;  // bytes
  int64_t length;  // bytes
};

struct Datatype;
using DatatypeRef = std::shared_ptr<const Datatype>;

struct Datatype {
  std::string text;
  std::string kind;
  std::vector<int64_t> numbers;
  std::vector<DatatypeRef> children;

  std::vector<Run> runs;           // type-map order, touching neighbours merged
  std::vector<int64_t> positions;  // data bytes before runs[i]
  int64_t size = 0;                // data bytes
  int64_t lower = 0, upper = 0;    // bounds as MPI_Type_get_extent gives them
  int64_t true_lower = 0, true_upper = 0;
  bool explicit_bounds = false;  // a resized, subarray or darray type is within
  char base = 'b';               // the predefined type at the bottom: b, i or d
  int64_t base_size = 1;

  int64_t extent() const { return upper - lower; }
  bool ascending() const;  // runs never go back nor overlap; nor do copies tiled by the extent
  bool tiles_disjointly() const;  // no two bytes of any number of copies coincide
  bool predefined() const { return children.empty(); }
};

// nullptr: the text describes no type.
DatatypeRef parse_datatype(std::string_view text);

// A committed handle, or the predefined one. `large`: built by the large-count constructors, if the
// library has them. free_handle releases it.
MPI_Datatype make_handle(const Datatype& type, bool large);
void free_handle(const Datatype& type, MPI_Datatype handle);

struct DatatypeLimits {
  bool file_type = false;       // ascending, non-negative
  bool negative_bounds = true;  // negative displacements and lower bounds
  bool nested = true;
  bool darray = true;
  bool zero_length_blocks = true;
  bool data_outside_bounds = true;     // of the type, as resizing allows
  bool gapless_structs_within = true;  // structures whose blocks touch, inside another type
};

// A random type with `element` (contiguous) at the bottom, at most some KiB wide. Displacements in
// bytes are multiples of the element's extent, so structures need no alignment padding, and the
// holes of a file type are whole etypes.
DatatypeRef random_datatype(RandomSource& random, const DatatypeRef& element,
                            const DatatypeLimits& limits);

// Walks copies of a type laid end to end from `origin`, as a view tiles a file and a count tiles
// memory. Calls visit(offset, length, position) for each run of the data bytes [position, position
// + bytes); touching runs are merged.
template <typename Visit>
void walk(const Datatype& type, int64_t origin, int64_t position, int64_t bytes, Visit visit) {
  if (bytes <= 0 || type.size == 0) return;
  if (type.runs.size() == 1 && type.runs[0].length == type.extent()) {
    visit(origin + type.runs[0].offset + position, bytes, position);
    return;
  }
  int64_t copy = position / type.size;
  const int64_t within = position % type.size;
  std::size_t index = 0;
  while (index + 1 < type.runs.size() && type.positions[index + 1] <= within) ++index;
  int64_t skip = within - type.positions[index];
  Run pending{0, 0};
  int64_t pending_position = position;
  while (bytes > 0) {
    const Run& run = type.runs[index];
    int64_t length = run.length - skip;
    if (length > bytes) length = bytes;
    const int64_t offset = origin + copy * type.extent() + run.offset + skip;
    if (pending.length > 0 && pending.offset + pending.length == offset) {
      pending.length += length;
    } else {
      if (pending.length > 0) visit(pending.offset, pending.length, pending_position);
      pending = {offset, length};
      pending_position = position;
    }
    position += length;
    bytes -= length;
    skip = 0;
    if (++index == type.runs.size()) {
      index = 0;
      ++copy;
    }
  }
  visit(pending.offset, pending.length, pending_position);
}

}  // namespace random_io
