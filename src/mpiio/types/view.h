// A file view (MPI 4.1, section 14.3): which bytes of the file a process sees, and in what order.
// Positions within a view are counted in data bytes; the standard's offsets are in etypes.
#pragma once

#include <cstdint>
#include <string>

#include "extent/layout.h"
#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

// A view owns duplicates of derived types: the user may free the types given to MPI_File_set_view.
class View {
 public:
  View();  // the view after open: bytes from the beginning of the file
  View(View&& other) noexcept;
  View& operator=(View&& other) noexcept;
  ~View();

  // Decodes a view. False: Forebay cannot walk it itself (a type is null or not committed, extents
  // go backwards, the file type is not made of etypes, or the representation is not native). The
  // MPI library then decides what to do with it.
  static bool decode(MPI_Comm comm, MPI_Offset displacement, MPI_Datatype etype,
                     MPI_Datatype filetype, const char* datarep, View& view);
  // Makes a view that only the MPI library understands; positions are still counted in native data
  // bytes. False: its etype has no size.
  static bool foreign(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                      const char* datarep, View& view);

  const Tiling& tiling() const { return tiling_; }
  int64_t etype_bytes() const { return etype_bytes_; }
  bool empty() const { return empty_; }               // no byte is visible
  bool dense() const { return dense_; }               // one run from origin() on
  int64_t origin() const { return origin_; }          // file offset of data byte 0 if dense
  int64_t offset_of(int64_t position) const;          // file offset of a data byte
  int64_t position_at_end(int64_t file_bytes) const;  // first position at or past the end of file

  MPI_Offset displacement() const { return displacement_; }
  MPI_Datatype etype() const { return etype_; }
  MPI_Datatype filetype() const { return filetype_; }
  const std::string& datarep() const { return datarep_; }

 private:
  bool keep_types(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                  const char* datarep);
  void release();

  Tiling tiling_;
  int64_t etype_bytes_ = 1;
  int64_t origin_ = 0;
  bool dense_ = true;
  bool empty_ = false;
  MPI_Offset displacement_ = 0;
  MPI_Datatype etype_;
  MPI_Datatype filetype_;
  std::string datarep_ = "native";
};

// A duplicate of the type, to keep or to hand out. A predefined type is returned itself (MPI 4.1,
// 14.3, MPI_FILE_GET_VIEW: the user frees only derived types).
MPI_Datatype duplicate_type(MPI_Datatype type);

}  // namespace forebay::mpiio
