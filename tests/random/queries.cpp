#include "queries.h"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "file_operations.h"
#include "hints.h"

namespace random_io {
namespace {

bool named(MPI_Datatype type) {
  int combiner = MPI_COMBINER_NAMED;
#if MPI_VERSION >= 4
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
  MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
#else
  int integers = 0, addresses = 0, types = 0;
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
#endif
  return combiner == MPI_COMBINER_NAMED;
}

void query_byte_offset(Rank& rank, const Planned& planned) {
  const int64_t offset = rank.part(planned)->offset;
  MPI_Offset at = -1;
  rank.outcomes.expect(planned,
                       MPI_File_get_byte_offset(rank.file(planned.operation.slot), offset, &at),
                       "MPI_File_get_byte_offset");
  const MPI_Offset wanted = planned.view.offset_of(offset * planned.view.etype->size);
  if (at != wanted) {
    rank.report.fail(planned, "MPI_File_get_byte_offset gave " + std::to_string(at) +
                                  ", expected " + std::to_string(wanted));
  }
}

// Returns the view's displacement.
MPI_Offset query_view(Rank& rank, const Planned& planned) {
  char representation[MPI_MAX_DATAREP_STRING] = "";
  MPI_Datatype types[2];
  MPI_Offset displacement = planned.expected;
  rank.outcomes.expect(planned,
                       MPI_File_get_view(rank.file(planned.operation.slot), &displacement,
                                         &types[0], &types[1], representation),
                       "MPI_File_get_view");
  if (std::strcmp(representation, "native") != 0) {
    rank.report.fail(planned, "the data representation differs");
  }
  const Datatype* wanted[2] = {planned.view.etype.get(), planned.view.file_type.get()};
  for (int i = 0; i < 2; ++i) {
    MPI_Aint lower = 0, extent = 0;
    int size = 0;
    MPI_Type_get_extent(types[i], &lower, &extent);
    MPI_Type_size(types[i], &size);
    if (size != wanted[i]->size || extent != wanted[i]->extent()) {
      rank.report.fail(planned, "MPI_File_get_view gave another type");
    }
    if (!named(types[i])) MPI_Type_free(&types[i]);
  }
  return displacement;
}

}  // namespace

void query(Rank& rank, const Planned& planned) {
  const Operation& operation = planned.operation;
  const std::string& name = operation.name;
  MPI_File file = rank.file(operation.slot);
  MPI_Offset found = planned.expected, expected = planned.expected;
  const auto expect = [&](int code, const char* call) {
    return rank.outcomes.expect(planned, code, call);
  };
  if (name == "tell" || name == "seek") {
    expect(MPI_File_get_position(file, &found), "MPI_File_get_position");
    if (name == "tell" && rank.features.enabled("byte_offset")) query_byte_offset(rank, planned);
  } else if (name == "tell_shared") {
    expect(MPI_File_get_position_shared(file, &found), "MPI_File_get_position_shared");
  } else if (name == "get_size") {
    if (!expect(MPI_File_get_size(file, &found), "MPI_File_get_size")) return;
    const SizeRange size = rank.planner.file(rank.planner.handle(operation.slot).file)
                               .size_seen(planned.actor, operation.number, operation.number);
    expected = std::clamp<MPI_Offset>(found, size.low, size.high);
  } else if (name == "get_mode") {
    int mode = 0;
    expect(MPI_File_get_amode(file, &mode), "MPI_File_get_amode");
    found = mode;
    expected = mpi_mode(planned.expected);
  } else if (name == "get_atomicity") {
    int flag = 0;
    expect(MPI_File_get_atomicity(file, &flag), "MPI_File_get_atomicity");
    found = flag != 0;
  } else if (name == "get_hints") {
    MPI_Info info = MPI_INFO_NULL;
    expect(MPI_File_get_info(file, &info), "MPI_File_get_info");
    free_hints(info);
  } else if (name == "get_view") {
    found = query_view(rank, planned);
    expected = planned.view.displacement;
  }
  if (found != expected) {
    rank.report.fail(planned,
                     "found " + std::to_string(found) + ", expected " + std::to_string(expected));
  }
}

}  // namespace random_io
