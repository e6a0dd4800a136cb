#include "mpiio/types/view.h"

#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "mpiio/types/datatype.h"
#include "mpiio/types/memory_type.h"

namespace forebay::mpiio {
namespace {

bool native(const char* datarep) {
  return std::strcmp(datarep, "native") == 0 || std::strcmp(datarep, "internal") == 0;
}

// Made once, so that the view after an open allocates nothing.
const LayoutRef& one_byte() {
  static const LayoutRef layout = Layout::block(1);
  return layout;
}

}  // namespace

MPI_Datatype duplicate_type(MPI_Datatype type) {
  if (type == mpi().datatype_null || predefined(type)) return type;
  MPI_Datatype copy = mpi().datatype_null;
  mpi().Type_dup(type, &copy);
  return copy;
}

View::View() : tiling_{one_byte(), 0, 1}, etype_(mpi().byte), filetype_(mpi().byte) {}

View::View(View&& other) noexcept : View() { *this = std::move(other); }

View& View::operator=(View&& other) noexcept {
  std::swap(tiling_, other.tiling_);
  std::swap(etype_bytes_, other.etype_bytes_);
  std::swap(origin_, other.origin_);
  std::swap(dense_, other.dense_);
  std::swap(empty_, other.empty_);
  std::swap(displacement_, other.displacement_);
  std::swap(etype_, other.etype_);
  std::swap(filetype_, other.filetype_);
  std::swap(datarep_, other.datarep_);
  return *this;
}

View::~View() { release(); }

void View::release() {
  for (MPI_Datatype* type : {&etype_, &filetype_}) {
    if (*type == mpi().byte) continue;  // the common case, and the only one after MPI_Finalize
    if (*type != mpi().datatype_null && !predefined(*type)) mpi().Type_free(type);
    *type = mpi().byte;
  }
}

bool View::keep_types(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                      const char* datarep) {
  MPI_Count etype_bytes = 0;
  if (mpi().Type_size_x(etype, &etype_bytes) != MPI_SUCCESS || etype_bytes <= 0) return false;
  release();
  etype_bytes_ = etype_bytes;
  displacement_ = displacement;
  etype_ = duplicate_type(etype);
  filetype_ = duplicate_type(filetype);
  datarep_ = datarep;
  return true;
}

bool View::decode(MPI_Comm comm, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                  const char* datarep, View& view) {
  if (datarep == nullptr || !native(datarep) || displacement < 0) return false;
  if (!committed(comm, etype) || !committed(comm, filetype)) return false;
  const std::optional<Datatype> datatype = mpiio::decode(filetype);
  if (!datatype) return false;
  const Tiling tiling = datatype->tiled(displacement);
  const int64_t bytes = tiling.layout->size();
  if (bytes > 0 && (!tiling.monotone() || tiling.layout->true_lower() < 0)) return false;
  if (!view.keep_types(displacement, etype, filetype, datarep)) return false;
  if (bytes % view.etype_bytes_ != 0) return false;
  view.tiling_ = tiling;
  view.empty_ = bytes == 0;
  view.dense_ = !view.empty_ && tiling.contiguous();
  view.origin_ = view.dense_ ? tiling.offset_of(0) : displacement;
  return true;
}

bool View::foreign(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                   const char* datarep, View& view) {
  return view.keep_types(displacement, etype, filetype, datarep);
}

int64_t View::offset_of(int64_t position) const {
  if (empty_) return displacement_;
  if (!dense_) return tiling_.offset_of(position);
  int64_t offset = 0;
  return __builtin_add_overflow(origin_, position, &offset) ? std::numeric_limits<int64_t>::max()
                                                            : offset;
}

int64_t View::position_at_end(int64_t file_bytes) const {
  if (empty_) return 0;
  const int64_t position = tiling_.data_below(file_bytes);
  return (position + etype_bytes_ - 1) / etype_bytes_ * etype_bytes_;
}

}  // namespace forebay::mpiio
