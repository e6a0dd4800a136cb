// Decoded data types against two references. Random nested types of all combiners are built
// together with the list of their bytes' offsets, by the rules of the standard; and MPI_Pack packs
// their bytes, in the order of the type map. One process.
//
//   FOREBAY_TEST_TYPES=N   how many random types
//   FOREBAY_TEST_SEED=N    the first seed (a failure names its own)
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "mpiio/types/datatype.h"

namespace forebay::mpiio {
namespace {

using Bytes = std::vector<int64_t>;  // offsets of the data bytes, in type-map order

constexpr std::size_t most_bytes = 2000;  // size of the largest type that is tried
constexpr int64_t farthest = 1 << 20;     // largest offset of a byte that is tried

int64_t setting(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : fallback;
}

int64_t extent_of(MPI_Datatype type) {
  MPI_Count lower_bound = 0, extent = 0;
  PMPI_Type_get_extent_x(type, &lower_bound, &extent);
  return extent;
}

// Counts the derived handles that MPI_Type_get_contents returns and that are freed.
int64_t handles_held = 0;

bool is_derived(MPI_Datatype type) {
  int combiner = 0;
#if defined(FOREBAY_LARGE_COUNT)
  MPI_Count integers = 0, addresses = 0, large_counts = 0, types = 0;
  PMPI_Type_get_envelope_c(type, &integers, &addresses, &large_counts, &types, &combiner);
#else
  int integers = 0, addresses = 0, types = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
#endif
  return combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL &&
         combiner != MPI_COMBINER_F90_COMPLEX && combiner != MPI_COMBINER_F90_INTEGER;
}

void watch_handles() {
  auto& library = internal::library;
  library.Type_get_contents = [](MPI_Datatype type, int integers, int addresses, int types,
                                 int* integer, MPI_Aint* address, MPI_Datatype* handle) {
    const int error =
        PMPI_Type_get_contents(type, integers, addresses, types, integer, address, handle);
    for (int i = 0; i < types; ++i) handles_held += is_derived(handle[i]);
    return error;
  };
#if defined(FOREBAY_LARGE_COUNT)
  library.Type_get_contents_c = [](MPI_Datatype type, MPI_Count integers, MPI_Count addresses,
                                   MPI_Count large_counts, MPI_Count types, int* integer,
                                   MPI_Aint* address, MPI_Count* large, MPI_Datatype* handle) {
    const int error = PMPI_Type_get_contents_c(type, integers, addresses, large_counts, types,
                                               integer, address, large, handle);
    for (MPI_Count i = 0; i < types; ++i) handles_held += is_derived(handle[i]);
    return error;
  };
#endif
  library.Type_free = [](MPI_Datatype* type) {
    handles_held -= is_derived(*type);
    return PMPI_Type_free(type);
  };
}

// Open MPI 5.0.11 packs the wrong bytes for double complex at strides that are a multiple of 8
// but not of 16: MPI_Type_create_hvector(2, 1, 24, MPI_C_DOUBLE_COMPLEX, ...).
#if defined(FOREBAY_ABI_OPENMPI) && OMPI_MAJOR_VERSION >= 5
constexpr bool packs_complex = false;
#else
constexpr bool packs_complex = true;
#endif

// An MPI type, its expected decoding, and its construction as text. Frees the handle.
class Sample {
 public:
  Sample() = default;
  Sample(Sample&& other) noexcept { *this = std::move(other); }
  Sample& operator=(Sample&& other) noexcept {
    std::swap(type, other.type);
    std::swap(owned, other.owned);
    std::swap(packable, other.packable);
    bytes.swap(other.bytes);
    text.swap(other.text);
    return *this;
  }
  ~Sample() {
    if (owned && type != MPI_DATATYPE_NULL) PMPI_Type_free(&type);
  }

  void place(int64_t displacement, Bytes& out) const {
    for (const int64_t byte : bytes) out.push_back(displacement + byte);
  }
  void place_copies(int64_t count, int64_t displacement, Bytes& out) const {
    const int64_t extent = extent_of(type);
    for (int64_t i = 0; i < count; ++i) place(displacement + i * extent, out);
  }

  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool owned = false;
  // Whether MPI_Pack of the type is right. MPICH 4 and 5 crash on some types that contain empty
  // ones, and on negative extents or pack the wrong bytes; Open MPI 4 and 5 compute the extent of
  // some structures with empty members wrongly.
  bool packable = true;
  Bytes bytes;
  std::string text;
};

template <typename Number>
std::string list(const std::vector<Number>& values) {
  std::string text = "{";
  for (const Number value : values) text += std::to_string(value) + ",";
  return text + "}";
}

// The offset of a pair's index in C.
template <typename Value, typename Index>
struct Pair {
  Value value;
  Index index;
};

template <typename Value, typename Index>
Bytes pair_bytes() {
  using Both = Pair<Value, Index>;
  Bytes bytes(sizeof(Value) + sizeof(Index));
  std::iota(bytes.begin(), bytes.begin() + sizeof(Value), 0);
  std::iota(bytes.begin() + sizeof(Value), bytes.end(), offsetof(Both, index));
  return bytes;
}

// Thrown if the library does not make a type (Open MPI refuses empty types in a darray).
struct Refused {};

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  Sample type(int depth) {
    if (depth == 0) return predefined();
    switch (pick(0, 12)) {
      case 0:
        return dup(depth);
      case 1:
        return contiguous(depth);
      case 2:
        return vector(depth, false);
      case 3:
        return vector(depth, true);
      case 4:
        return indexed(depth, false);
      case 5:
        return indexed(depth, true);
      case 6:
        return indexed_block(depth, false);
      case 7:
        return indexed_block(depth, true);
      case 8:
        return structure(depth);
      case 9:
        return subarray(depth);
      case 10:
        return darray(depth);
      case 11:
        return resized(depth);
      default:
        return predefined();
    }
  }

 private:
  Sample predefined() {
    switch (pick(0, 9)) {
      case 0:
        return simple(MPI_CHAR, "char");
      case 1:
        return simple(MPI_SHORT, "short");
      case 2:
        return simple(MPI_INT, "int");
      case 3:
        return simple(MPI_DOUBLE, "double");
      case 4:
        return simple(MPI_BYTE, "byte");
      case 5:
        return pair<short, int>(MPI_SHORT_INT, "short_int");
      case 6:
        return pair<double, int>(MPI_DOUBLE_INT, "double_int");
      case 7:
        return pair<long, int>(MPI_LONG_INT, "long_int");
      case 8:
        return pair<int, int>(MPI_2INT, "2int");
      default:
        return fortran();
    }
  }

  // The library gives the length; by the standard the type is one run.
  Sample simple(MPI_Datatype type, const char* name) {
    int size = 0;
    PMPI_Type_size(type, &size);
    Sample sample;
    sample.type = type;
    sample.bytes.resize(size);
    std::iota(sample.bytes.begin(), sample.bytes.end(), 0);
    sample.text = name;
    return sample;
  }

  template <typename Value, typename Index>
  Sample pair(MPI_Datatype type, const char* name) {
    Sample sample;
    sample.type = type;
    sample.bytes = pair_bytes<Value, Index>();
    sample.text = name;
    return sample;
  }

  // Parametrised and other types of Fortran, if the library was built with Fortran.
  Sample fortran() {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const int64_t kind = pick(0, 5);
    if (kind == 0) PMPI_Type_create_f90_real(6, 30, &type);
    if (kind == 1) PMPI_Type_create_f90_complex(12, 200, &type);
    if (kind == 2) PMPI_Type_create_f90_integer(4, &type);
    if (kind == 3) type = MPI_2INTEGER;
    if (kind == 4) type = MPI_REAL;
    if (kind == 5) type = MPI_DOUBLE_COMPLEX;
    if (type == MPI_DATATYPE_NULL) return simple(MPI_FLOAT, "float");
    Sample sample = simple(type, kind < 3 ? "f90" : "fortran");
    sample.packable = packs_complex || (kind != 1 && kind != 5);
    return sample;
  }

  Sample dup(int depth) {
    const Sample child = type(depth - 1);
    Sample sample = derived("dup", child);
    made(PMPI_Type_dup(child.type, &sample.type));
    sample.bytes = child.bytes;
    return sample;
  }

  Sample contiguous(int depth) {
    const Sample child = type(depth - 1);
    const int count = small();
    Sample sample = derived("contiguous(" + std::to_string(count) + ")", child);
#if defined(FOREBAY_LARGE_COUNT)
    if (large())
      made(PMPI_Type_contiguous_c(count, child.type, &sample.type));
    else
#endif
      made(PMPI_Type_contiguous(count, child.type, &sample.type));
    child.place_copies(count, 0, sample.bytes);
    return sample;
  }

  Sample vector(int depth, bool in_bytes) {
    const Sample child = type(depth - 1);
    const int count = small(), length = small();
    const auto stride = static_cast<int>(in_bytes ? distance(child, length) : pick(-4, 6));
    Sample sample = derived(
        (in_bytes ? "hvector" : "vector") + list(std::vector<int>{count, length, stride}), child);
#if defined(FOREBAY_LARGE_COUNT)
    if (large()) {
      if (in_bytes)
        made(PMPI_Type_create_hvector_c(count, length, stride, child.type, &sample.type));
      else
        made(PMPI_Type_vector_c(count, length, stride, child.type, &sample.type));
    } else
#endif
        if (in_bytes)
      made(PMPI_Type_create_hvector(count, length, stride, child.type, &sample.type));
    else
      made(PMPI_Type_vector(count, length, stride, child.type, &sample.type));
    const int64_t stride_bytes = in_bytes ? stride : stride * extent_of(child.type);
    for (int i = 0; i < count; ++i) child.place_copies(length, i * stride_bytes, sample.bytes);
    return sample;
  }

  Sample indexed(int depth, bool in_bytes) {
    const Sample child = type(depth - 1);
    const auto count = static_cast<int>(pick(0, 4));
    const bool equal = pick(0, 2) == 0;
    const int equal_length = small();
    std::vector<int> lengths(count), displacements(count);
    std::vector<MPI_Aint> addresses(count);
    int64_t at = in_bytes ? pick(-16, 16) : pick(-3, 3);
    for (int i = 0; i < count; ++i) {
      lengths[i] = equal ? equal_length : small();
      displacements[i] = static_cast<int>(at);
      addresses[i] = at;
      at = next_displacement(at, lengths[i] * (in_bytes ? extent_of(child.type) : 1));
    }
    Sample sample =
        derived((in_bytes ? "hindexed" : "indexed") + list(lengths) + list(displacements), child);
#if defined(FOREBAY_LARGE_COUNT)
    if (large()) {
      const std::vector<MPI_Count> l(lengths.begin(), lengths.end());
      const std::vector<MPI_Count> d(addresses.begin(), addresses.end());
      if (in_bytes)
        made(PMPI_Type_create_hindexed_c(count, l.data(), d.data(), child.type, &sample.type));
      else
        made(PMPI_Type_indexed_c(count, l.data(), d.data(), child.type, &sample.type));
    } else
#endif
        if (in_bytes)
      made(PMPI_Type_create_hindexed(count, lengths.data(), addresses.data(), child.type,
                                     &sample.type));
    else
      made(
          PMPI_Type_indexed(count, lengths.data(), displacements.data(), child.type, &sample.type));
    const int64_t unit = in_bytes ? 1 : extent_of(child.type);
    for (int i = 0; i < count; ++i)
      child.place_copies(lengths[i], displacements[i] * unit, sample.bytes);
    return sample;
  }

  Sample indexed_block(int depth, bool in_bytes) {
    const Sample child = type(depth - 1);
    const auto count = static_cast<int>(pick(0, 4));
    const int length = small();
    std::vector<int> displacements(count);
    std::vector<MPI_Aint> addresses(count);
    int64_t at = in_bytes ? pick(-16, 16) : pick(-3, 3);
    for (int i = 0; i < count; ++i) {
      displacements[i] = static_cast<int>(at);
      addresses[i] = at;
      at = next_displacement(at, length * (in_bytes ? extent_of(child.type) : 1));
    }
    Sample sample = derived((in_bytes ? "hindexed_block(" : "indexed_block(") +
                                std::to_string(length) + ")" + list(displacements),
                            child);
#if defined(FOREBAY_LARGE_COUNT)
    if (large()) {
      const std::vector<MPI_Count> d(addresses.begin(), addresses.end());
      if (in_bytes)
        made(PMPI_Type_create_hindexed_block_c(count, length, d.data(), child.type, &sample.type));
      else
        made(PMPI_Type_create_indexed_block_c(count, length, d.data(), child.type, &sample.type));
    } else
#endif
        if (in_bytes)
      made(PMPI_Type_create_hindexed_block(count, length, addresses.data(), child.type,
                                           &sample.type));
    else
      made(PMPI_Type_create_indexed_block(count, length, displacements.data(), child.type,
                                          &sample.type));
    const int64_t unit = in_bytes ? 1 : extent_of(child.type);
    for (int i = 0; i < count; ++i)
      child.place_copies(length, displacements[i] * unit, sample.bytes);
    return sample;
  }

  Sample structure(int depth) {
    const auto count = static_cast<int>(pick(0, 4));
    std::vector<Sample> children;
    std::vector<int> lengths;
    std::vector<MPI_Aint> addresses;
    std::vector<MPI_Datatype> types;
    Sample sample;
    sample.owned = true;
    sample.text = "struct(";
    int64_t at = pick(-16, 16);
    for (int i = 0; i < count; ++i) {
      children.push_back(type(depth - 1));
      const Sample& child = children.back();
      sample.packable &= child.packable && !child.bytes.empty();
      lengths.push_back(small());
      addresses.push_back(at);
      types.push_back(child.type);
      child.place_copies(lengths[i], at, sample.bytes);
      sample.text += std::to_string(at) + ":" + std::to_string(lengths[i]) + "*" + child.text + ",";
      at = next_displacement(at, lengths[i] * extent_of(child.type));
    }
    sample.text += ")";
#if defined(FOREBAY_LARGE_COUNT)
    if (large()) {
      const std::vector<MPI_Count> l(lengths.begin(), lengths.end());
      const std::vector<MPI_Count> d(addresses.begin(), addresses.end());
      made(PMPI_Type_create_struct_c(count, l.data(), d.data(), types.data(), &sample.type));
      return sample;
    }
#endif
    made(PMPI_Type_create_struct(count, lengths.data(), addresses.data(), types.data(),
                                 &sample.type));
    return sample;
  }

  Sample subarray(int depth) {
    const Sample child = type(depth - 1);
    const auto dimensions = static_cast<int>(pick(1, 3));
    const int order = pick(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    std::vector<int> sizes, lengths, starts;
    for (int i = 0; i < dimensions; ++i) {
      sizes.push_back(static_cast<int>(pick(1, 5)));
      lengths.push_back(static_cast<int>(pick(1, sizes[i])));
      starts.push_back(static_cast<int>(pick(0, sizes[i] - lengths[i])));
    }
    Sample sample = derived(std::string("subarray") + (order == MPI_ORDER_C ? "C" : "F") +
                                list(sizes) + list(lengths) + list(starts),
                            child);
#if defined(FOREBAY_LARGE_COUNT)
    if (large()) {
      const std::vector<MPI_Count> s(sizes.begin(), sizes.end());
      const std::vector<MPI_Count> l(lengths.begin(), lengths.end());
      const std::vector<MPI_Count> b(starts.begin(), starts.end());
      made(PMPI_Type_create_subarray_c(dimensions, s.data(), l.data(), b.data(), order, child.type,
                                       &sample.type));
    } else
#endif
      made(PMPI_Type_create_subarray(dimensions, sizes.data(), lengths.data(), starts.data(), order,
                                     child.type, &sample.type));
    place_elements(child, sizes, order, sample.bytes, [&](int dimension, int index) {
      return index >= starts[dimension] && index < starts[dimension] + lengths[dimension];
    });
    return sample;
  }

  Sample darray(int depth) {
    const Sample child = type(depth - 1);
    const auto dimensions = static_cast<int>(pick(1, 3));
    const int order = pick(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    std::vector<int> sizes, kinds, arguments, grid;
    int processes = 1;
    for (int i = 0; i < dimensions; ++i) {
      const int kind = std::vector<int>{MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK,
                                        MPI_DISTRIBUTE_CYCLIC}[pick(0, 2)];
      sizes.push_back(static_cast<int>(pick(1, 8)));
      kinds.push_back(kind);
      grid.push_back(kind == MPI_DISTRIBUTE_NONE ? 1 : static_cast<int>(pick(1, 3)));
      const int least = kind == MPI_DISTRIBUTE_BLOCK ? (sizes[i] + grid[i] - 1) / grid[i] : 1;
      arguments.push_back(kind == MPI_DISTRIBUTE_NONE || pick(0, 1)
                              ? MPI_DISTRIBUTE_DFLT_DARG
                              : static_cast<int>(pick(least, least + 2)));
      processes *= grid[i];
    }
    const auto rank = static_cast<int>(pick(0, processes - 1));
    Sample sample =
        derived(std::string("darray") + (order == MPI_ORDER_C ? "C" : "F") + std::to_string(rank) +
                    list(sizes) + list(kinds) + list(arguments) + list(grid),
                child);
#if defined(FOREBAY_LARGE_COUNT)
    if (large()) {
      const std::vector<MPI_Count> s(sizes.begin(), sizes.end());
      made(PMPI_Type_create_darray_c(processes, rank, dimensions, s.data(), kinds.data(),
                                     arguments.data(), grid.data(), order, child.type,
                                     &sample.type));
    } else
#endif
      made(PMPI_Type_create_darray(processes, rank, dimensions, sizes.data(), kinds.data(),
                                   arguments.data(), grid.data(), order, child.type, &sample.type));
    std::vector<int> coordinates(dimensions);
    for (int i = dimensions - 1, rest = rank; i >= 0; rest /= grid[i--])
      coordinates[i] = rest % grid[i];
    place_elements(child, sizes, order, sample.bytes, [&](int dimension, int index) {
      int block = arguments[dimension];
      if (kinds[dimension] == MPI_DISTRIBUTE_NONE) return true;
      if (block == MPI_DISTRIBUTE_DFLT_DARG)
        block = kinds[dimension] == MPI_DISTRIBUTE_BLOCK
                    ? (sizes[dimension] + grid[dimension] - 1) / grid[dimension]
                    : 1;
      return index / block % grid[dimension] == coordinates[dimension];
    });
    return sample;
  }

  Sample resized(int depth) {
    const Sample child = type(depth - 1);
    const int64_t lower_bound = pick(-8, 8);
    const int64_t extent = pick(0, 3) == 0 ? pick(-8, 8) : pick(0, 64);
    Sample sample = derived("resized" + list(std::vector<int64_t>{lower_bound, extent}), child);
#if defined(FOREBAY_LARGE_COUNT)
    if (large())
      made(PMPI_Type_create_resized_c(child.type, lower_bound, extent, &sample.type));
    else
#endif
      made(PMPI_Type_create_resized(child.type, lower_bound, extent, &sample.type));
    sample.packable &= extent >= 0;
    sample.bytes = child.bytes;
    return sample;
  }

  // The elements of an array, in its order, whose index is chosen in every dimension.
  template <typename Chosen>
  static void place_elements(const Sample& child, const std::vector<int>& sizes, int order,
                             Bytes& bytes, const Chosen& chosen) {
    const auto dimensions = static_cast<int>(sizes.size());
    const int elements = std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
    for (int element = 0; element < elements; ++element) {
      bool all = true;
      for (int i = 0, rest = element; i < dimensions; ++i) {
        const int dimension = order == MPI_ORDER_C ? dimensions - 1 - i : i;
        all = all && chosen(dimension, rest % sizes[dimension]);
        rest /= sizes[dimension];
      }
      if (all) child.place(element * extent_of(child.type), bytes);
    }
  }

  static void made(int error) {
    if (error != MPI_SUCCESS) throw Refused();
  }

  static Sample derived(const std::string& constructor, const Sample& child) {
    Sample sample;
    sample.owned = true;
    sample.packable = child.packable && !child.bytes.empty();
    sample.text = constructor + "(" + child.text + ")";
    return sample;
  }

  int small() { return static_cast<int>(pick(0, 3)); }
  bool large() { return pick(0, 1) == 0; }
  int64_t next_displacement(int64_t at, int64_t length) {
    const int64_t kind = pick(0, 5);
    if (kind == 0) return at - length - pick(0, 3);
    return at + length + (kind < 3 ? pick(0, 9) : 0);
  }
  int64_t distance(const Sample& child, int64_t length) {
    const int64_t extent = extent_of(child.type) * length;
    return pick(0, 2) ? extent + (pick(0, 1) ? pick(0, 9) : 0) : pick(-40, 40);
  }

  std::mt19937 random_;
};

bool ascends(const Bytes& bytes) {
  return std::adjacent_find(bytes.begin(), bytes.end(), std::greater_equal<>()) == bytes.end();
}

bool one_run(const Bytes& bytes) {
  for (std::size_t i = 1; i < bytes.size(); ++i)
    if (bytes[i] != bytes[i - 1] + 1) return false;
  return true;
}

void expect_properties(const Sample& sample, const Datatype& decoded) {
  const Bytes& bytes = sample.bytes;
  MPI_Count size = 0, lower_bound = 0, extent = 0;
  PMPI_Type_size_x(sample.type, &size);
  PMPI_Type_get_extent_x(sample.type, &lower_bound, &extent);
  EXPECT_EQ(decoded.size(), size);
  EXPECT_EQ(decoded.size(), static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(decoded.lower_bound, lower_bound);
  EXPECT_EQ(decoded.extent_bytes, extent);
  EXPECT_EQ(decoded.layout->monotone(), ascends(bytes));
  EXPECT_EQ(decoded.layout->contiguous(), one_run(bytes));
  EXPECT_EQ(decoded.contiguous, one_run(bytes) && extent == static_cast<int64_t>(bytes.size()));
  if (bytes.empty()) return;
  EXPECT_EQ(decoded.layout->true_lower(), *std::min_element(bytes.begin(), bytes.end()));
  EXPECT_EQ(decoded.layout->true_upper(), *std::max_element(bytes.begin(), bytes.end()) + 1);
}

Bytes walked(const Datatype& decoded, int count) {
  Bytes bytes;
  const Tiling tiling = decoded.tiled(0);
  Cursor cursor(tiling, 0);
  const int64_t total = decoded.size() * count;
  while (cursor.position() < total) {
    const Extent run = cursor.next(total - cursor.position());
    for (int64_t i = 0; i < run.length; ++i) bytes.push_back(run.offset + i);
  }
  return bytes;
}

// Memory in which bytes that are near each other differ.
const std::vector<unsigned char>& memory() {
  static const std::vector<unsigned char> bytes = [] {
    std::mt19937 random(7);
    std::vector<unsigned char> noise(2 * 4 * farthest);
    for (unsigned char& byte : noise) byte = static_cast<unsigned char>(random());
    return noise;
  }();
  return bytes;
}

void expect_packs_alike(const Sample& sample, int count) {
  Bytes bytes;
  sample.place_copies(count, 0, bytes);
  const unsigned char* origin = memory().data() + memory().size() / 2;
  std::vector<unsigned char> packed(bytes.size() + 64);
  MPI_Datatype type = sample.type;
  if (sample.owned) PMPI_Type_commit(&type);
  int position = 0;
  ASSERT_EQ(PMPI_Pack(origin, count, type, packed.data(), static_cast<int>(packed.size()),
                      &position, MPI_COMM_SELF),
            MPI_SUCCESS);
  ASSERT_EQ(position, static_cast<int>(bytes.size()));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    ASSERT_EQ(packed[i], origin[bytes[i]]) << "data byte " << i << " of " << count << " copies";
}

bool worth_trying(const Sample& sample) {
  if (sample.bytes.size() > most_bytes || std::abs(extent_of(sample.type)) > farthest) return false;
  if (sample.bytes.empty()) return true;
  const auto [low, high] = std::minmax_element(sample.bytes.begin(), sample.bytes.end());
  return *low > -farthest && *high < farthest;
}

// Whether this library packs these bytes in type-map order. Open MPI joins a block to an earlier
// one if it ends where that one begins, or overlaps it, and then packs their bytes in another
// order.
bool packs_in_order([[maybe_unused]] const Bytes& bytes) {
#if defined(FOREBAY_ABI_OPENMPI)
  std::set<int64_t> begins;  // of the runs so far
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 0 || bytes[i] != bytes[i - 1] + 1) begins.insert(bytes[i]);
    const bool ends = i + 1 == bytes.size() || bytes[i + 1] != bytes[i] + 1;
    if (ends && begins.count(bytes[i] + 1) > 0) return false;
  }
  return std::set<int64_t>(bytes.begin(), bytes.end()).size() == bytes.size();
#else
  return true;
#endif
}

void expect_decodes(const Sample& sample) {
  const std::optional<Datatype> decoded = decode(sample.type);
  ASSERT_TRUE(decoded);
  ASSERT_EQ(handles_held, 0);
  expect_properties(sample, *decoded);
  for (const int count : {1, 3}) {
    Bytes bytes;
    sample.place_copies(count, 0, bytes);
    ASSERT_EQ(walked(*decoded, count), bytes);
    if (sample.packable && packs_in_order(bytes)) expect_packs_alike(sample, count);
  }
}

TEST(DatatypeDecode, RandomTypesMatchTheirTypeMap) {
  const int64_t wanted = setting("FOREBAY_TEST_TYPES", 60000);
  int64_t tried = 0;
  int64_t refused = 0;
  for (int64_t seed = setting("FOREBAY_TEST_SEED", 1); tried < wanted && !HasFailure(); ++seed) {
    try {
      const Sample sample =
          Generator(static_cast<uint32_t>(seed)).type(static_cast<int>(1 + seed % 4));
      if (!worth_trying(sample)) continue;
      ++tried;
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + sample.text);
      expect_decodes(sample);
    } catch (const Refused&) {
      ++refused;
    }
  }
  RecordProperty("refused", std::to_string(refused));
  EXPECT_LT(refused, tried / 10 + 10);
}

TEST(DatatypeDecode, PredefinedTypesMatchTheirPacking) {
  for (const MPI_Datatype type : {MPI_CHAR,
                                  MPI_SIGNED_CHAR,
                                  MPI_UNSIGNED_CHAR,
                                  MPI_BYTE,
                                  MPI_PACKED,
                                  MPI_WCHAR,
                                  MPI_SHORT,
                                  MPI_UNSIGNED_SHORT,
                                  MPI_INT,
                                  MPI_UNSIGNED,
                                  MPI_LONG,
                                  MPI_UNSIGNED_LONG,
                                  MPI_LONG_LONG_INT,
                                  MPI_UNSIGNED_LONG_LONG,
                                  MPI_FLOAT,
                                  MPI_DOUBLE,
                                  MPI_LONG_DOUBLE,
                                  MPI_INT8_T,
                                  MPI_UINT8_T,
                                  MPI_INT16_T,
                                  MPI_UINT16_T,
                                  MPI_INT32_T,
                                  MPI_UINT32_T,
                                  MPI_INT64_T,
                                  MPI_UINT64_T,
                                  MPI_AINT,
                                  MPI_OFFSET,
                                  MPI_COUNT,
                                  MPI_C_BOOL,
                                  MPI_C_FLOAT_COMPLEX,
                                  MPI_C_DOUBLE_COMPLEX,
                                  MPI_C_LONG_DOUBLE_COMPLEX,
                                  MPI_FLOAT_INT,
                                  MPI_DOUBLE_INT,
                                  MPI_LONG_INT,
                                  MPI_2INT,
                                  MPI_SHORT_INT,
                                  MPI_LONG_DOUBLE_INT,
                                  MPI_CHARACTER,
                                  MPI_LOGICAL,
                                  MPI_INTEGER,
                                  MPI_REAL,
                                  MPI_DOUBLE_PRECISION,
                                  MPI_COMPLEX,
                                  MPI_DOUBLE_COMPLEX,
                                  MPI_2REAL,
                                  MPI_2DOUBLE_PRECISION,
                                  MPI_2INTEGER,
                                  MPI_INTEGER1,
                                  MPI_INTEGER2,
                                  MPI_INTEGER4,
                                  MPI_INTEGER8,
                                  MPI_REAL4,
                                  MPI_REAL8}) {
    if (type == MPI_DATATYPE_NULL) continue;  // this library was built without Fortran
    const std::optional<Datatype> decoded = decode(type);
    ASSERT_TRUE(decoded);
    Sample sample;
    sample.type = type;
    sample.bytes = walked(*decoded, 1);
    expect_properties(sample, *decoded);
    for (const int count : {1, 3}) expect_packs_alike(sample, count);
  }
}

// Pairs of a value and an index of any type (MPI 4.1), if this library has them.
TEST(DatatypeDecode, ValueIndexTypesHaveTheirPadding) {
  using GetValueIndex = int(MPI_Datatype, MPI_Datatype, MPI_Datatype*);
  const auto get_value_index =
      reinterpret_cast<GetValueIndex*>(dlsym(RTLD_DEFAULT, "PMPI_Type_get_value_index"));
  if (get_value_index == nullptr) GTEST_SKIP() << "MPI_Type_get_value_index is missing";
  const auto expect_pair = [&](MPI_Datatype value, MPI_Datatype index, const Bytes& bytes) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    ASSERT_EQ(get_value_index(value, index, &type), MPI_SUCCESS);
    if (type == MPI_DATATYPE_NULL) return;
    const std::optional<Datatype> decoded = decode(type);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(walked(*decoded, 1), bytes);
  };
  expect_pair(MPI_DOUBLE, MPI_INT, pair_bytes<double, int>());
  expect_pair(MPI_SHORT, MPI_INT, pair_bytes<short, int>());
  expect_pair(MPI_FLOAT, MPI_INT64_T, pair_bytes<float, int64_t>());
  expect_pair(MPI_INT8_T, MPI_INT64_T, pair_bytes<int8_t, int64_t>());
  expect_pair(MPI_INT64_T, MPI_INT16_T, pair_bytes<int64_t, int16_t>());
}

TEST(DatatypeDecode, NullTypeIsNotDecoded) { EXPECT_FALSE(decode(MPI_DATATYPE_NULL)); }

TEST(DatatypeDecode, DecodedFormOutlivesTheHandle) {
  MPI_Datatype type;
  PMPI_Type_vector(3, 1, 2, MPI_SHORT, &type);
  const std::optional<Datatype> decoded = decode(type);
  PMPI_Type_free(&type);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(walked(*decoded, 1), (Bytes{0, 1, 4, 5, 8, 9}));
}

TEST(DatatypeDecode, RegularTypesCostTheirDescription) {
  MPI_Datatype type;
  PMPI_Type_vector(10'000'000, 3, 7, MPI_DOUBLE, &type);
  const std::optional<Datatype> decoded = decode(type);
  PMPI_Type_free(&type);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->size(), 240'000'000);
  EXPECT_LT(decoded->layout->description_bytes(), 1000);
}

// A duplicate of a duplicate of ... an int.
Sample nested(int levels) {
  Sample sample;
  sample.owned = true;
  PMPI_Type_dup(MPI_INT, &sample.type);
  for (int i = 0; i < levels; ++i) {
    Sample outer;
    outer.owned = true;
    PMPI_Type_dup(sample.type, &outer.type);
    sample = std::move(outer);
  }
  return sample;
}

TEST(DatatypeDecode, NestingIsLimited) {
  EXPECT_TRUE(decode(nested(500).type));
  EXPECT_FALSE(decode(nested(1500).type));
  EXPECT_EQ(handles_held, 0);
}

#if defined(FOREBAY_LARGE_COUNT)
TEST(DatatypeDecode, CountsBeyondAnInt) {
  constexpr MPI_Count big = MPI_Count{3} << 31;
  const auto expect_layout = [](MPI_Datatype type, int64_t size, int64_t last_offset) {
    const std::optional<Datatype> decoded = decode(type);
    PMPI_Type_free(&type);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->size(), size);
    EXPECT_EQ(decoded->tiled(0).offset_of(size - 1), last_offset);
  };
  MPI_Datatype type;
  PMPI_Type_contiguous_c(big, MPI_INT, &type);
  expect_layout(type, 4 * big, 4 * big - 1);
  PMPI_Type_vector_c(2, big, 2 * big, MPI_SHORT, &type);
  expect_layout(type, 4 * big, 6 * big - 1);
  PMPI_Type_create_hvector_c(2, 3, big, MPI_BYTE, &type);
  expect_layout(type, 6, big + 2);
  const MPI_Count lengths[] = {big, 1}, displacements[] = {5, 3 * big};
  PMPI_Type_indexed_c(2, lengths, displacements, MPI_SHORT, &type);
  expect_layout(type, 2 * big + 2, 6 * big + 1);
  PMPI_Type_create_hindexed_c(2, lengths, displacements, MPI_SHORT, &type);
  expect_layout(type, 2 * big + 2, 3 * big + 1);
  PMPI_Type_create_indexed_block_c(2, 3, displacements, MPI_SHORT, &type);
  expect_layout(type, 12, 6 * big + 5);
  PMPI_Type_create_hindexed_block_c(2, big, displacements, MPI_BYTE, &type);
  expect_layout(type, 2 * big, 4 * big - 1);
  const MPI_Datatype members[] = {MPI_BYTE, MPI_INT};
  PMPI_Type_create_struct_c(2, lengths, displacements, members, &type);
  expect_layout(type, big + 4, 3 * big + 3);
  const MPI_Count sizes[] = {4, big}, parts[] = {2, big - 1}, starts[] = {1, 1};
  PMPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_BYTE, &type);
  expect_layout(type, 2 * (big - 1), 3 * big - 1);
  const int kinds[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK}, grid[] = {1, 2};
  const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  PMPI_Type_create_darray_c(2, 1, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_BYTE, &type);
  expect_layout(type, 2 * big, 4 * big - 1);
  PMPI_Type_create_resized_c(MPI_INT, -big, 2 * big, &type);
  const std::optional<Datatype> resized = decode(type);
  PMPI_Type_free(&type);
  ASSERT_TRUE(resized);
  EXPECT_EQ(resized->lower_bound, -big);
  EXPECT_EQ(resized->extent_bytes, 2 * big);
}
#endif

}  // namespace
}  // namespace forebay::mpiio

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  MPI_Init(&argc, &argv);
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  forebay::mpiio::watch_handles();
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
