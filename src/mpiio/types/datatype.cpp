// Decodes data types. Each combiner has a case of its own, which makes the layout that the standard
// describes for its constructor. Bounds and extents are not computed: the library is asked for
// them.
#include "mpiio/types/datatype.h"

#include <algorithm>
#include <new>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "extent/exact.h"
#include "mpiio/types/envelope.h"

namespace forebay::mpiio {
namespace {

constexpr int deepest_nesting = 1000;

// The arguments of a type's constructor; owns the handles among them.
class Contents {
 public:
  Contents() = default;
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
  ~Contents() {
    MPI_Datatype last = mpi().datatype_null;
    bool owned = false;  // whether handles equal to `last` must be freed
    for (MPI_Datatype type : types) {
      Envelope envelope;
      if (type != last) owned = get_envelope(type, envelope) && !envelope.owned_by_library();
      last = type;
      if (owned) mpi().Type_free(&type);
    }
  }

  bool get(MPI_Datatype type, const Envelope& envelope) {
    integers.resize(envelope.integers);
    addresses.resize(envelope.addresses);
    large_counts.resize(envelope.large_counts);
    std::vector<MPI_Datatype> handles(envelope.types);
    if (!ask(type, handles)) return false;
    types = std::move(handles);
    return true;
  }

  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> large_counts;
  std::vector<MPI_Datatype> types;

 private:
  bool ask(MPI_Datatype type, std::vector<MPI_Datatype>& handles) {
#if defined(FOREBAY_LARGE_COUNT)
    if (mpi().Type_get_contents_c != nullptr)
      return mpi().Type_get_contents_c(type, static_cast<MPI_Count>(integers.size()),
                                       static_cast<MPI_Count>(addresses.size()),
                                       static_cast<MPI_Count>(large_counts.size()),
                                       static_cast<MPI_Count>(handles.size()), integers.data(),
                                       addresses.data(), large_counts.data(),
                                       handles.data()) == MPI_SUCCESS;
#endif
    return mpi().Type_get_contents(type, static_cast<int>(integers.size()),
                                   static_cast<int>(addresses.size()),
                                   static_cast<int>(handles.size()), integers.data(),
                                   addresses.data(), handles.data()) == MPI_SUCCESS;
  }
};

// Reads the numbers among a constructor's arguments in their order. Most combiners list the same
// numbers in the same order whether they came as integers and addresses or as large counts.
class Numbers {
 public:
  explicit Numbers(const Contents& contents) : contents_(contents) {}

  int64_t next() {
    const std::size_t at = next_++;
    if (!contents_.large_counts.empty()) return pick(contents_.large_counts, at);
    if (at < contents_.integers.size()) return contents_.integers[at];
    return pick(contents_.addresses, at - contents_.integers.size());
  }
  std::vector<int64_t> next(int64_t count) {
    if (count < 0 || static_cast<std::size_t>(count) > total()) {
      complete_ = false;
      return {};
    }
    std::vector<int64_t> numbers(count);
    std::generate(numbers.begin(), numbers.end(), [this] { return next(); });
    return numbers;
  }
  bool complete() const { return complete_; }  // all numbers that were asked for exist

 private:
  std::size_t total() const {
    return contents_.integers.size() + contents_.addresses.size() + contents_.large_counts.size();
  }
  template <typename Number>
  int64_t pick(const std::vector<Number>& numbers, std::size_t at) {
    if (at < numbers.size()) return numbers[at];
    complete_ = false;
    return 0;
  }

  const Contents& contents_;
  std::size_t next_ = 0;
  bool complete_ = true;
};

// A type that is part of another: its layout, and the distance between its copies. A null layout
// says that decoding failed; the functions that build layouts pass it on.
struct Component {
  LayoutRef layout;
  int64_t extent = 0;
  int64_t lower_bound = 0;

  LayoutRef copies(int64_t count) const { return Layout::repeat(count, extent, layout); }
};

std::vector<int64_t> scaled(std::vector<int64_t> numbers, int64_t factor, Exact& exact) {
  for (int64_t& number : numbers) number = exact.multiply(number, factor);
  return numbers;
}

LayoutRef vector(Numbers& numbers, const Component& part, bool stride_in_bytes) {
  const int64_t count = numbers.next();
  const int64_t block_length = numbers.next();
  const int64_t stride = numbers.next();
  Exact exact;
  const int64_t stride_bytes = stride_in_bytes ? stride : exact.multiply(stride, part.extent);
  return exact.ok() ? Layout::repeat(count, stride_bytes, part.copies(block_length)) : nullptr;
}

LayoutRef indexed(Numbers& numbers, const Component& part, bool displacements_in_bytes) {
  const int64_t count = numbers.next();
  std::vector<int64_t> block_lengths = numbers.next(count);
  std::vector<int64_t> displacements = numbers.next(count);
  Exact exact;
  if (!displacements_in_bytes) displacements = scaled(std::move(displacements), part.extent, exact);
  return exact.ok() ? Layout::indexed(std::move(displacements), std::move(block_lengths),
                                      part.extent, part.layout)
                    : nullptr;
}

LayoutRef indexed_block(Numbers& numbers, const Component& part, bool displacements_in_bytes) {
  const int64_t count = numbers.next();
  const int64_t block_length = numbers.next();
  std::vector<int64_t> displacements = numbers.next(count);
  Exact exact;
  if (!displacements_in_bytes) displacements = scaled(std::move(displacements), part.extent, exact);
  std::vector<int64_t> block_lengths(displacements.size(), block_length);
  return exact.ok() ? Layout::indexed(std::move(displacements), std::move(block_lengths),
                                      part.extent, part.layout)
                    : nullptr;
}

LayoutRef structure(Numbers& numbers, const std::vector<Component>& parts) {
  const int64_t count = numbers.next();
  const std::vector<int64_t> block_lengths = numbers.next(count);
  std::vector<int64_t> displacements = numbers.next(count);
  if (parts.size() != block_lengths.size()) return nullptr;
  std::vector<LayoutRef> children;
  children.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i)
    children.push_back(parts[i].copies(block_lengths[i]));
  return Layout::structure(std::move(displacements), std::move(children));
}

// The dimensions' indices, from the dimension whose elements are neighbours in memory to the
// outermost.
std::vector<std::size_t> innermost_first(std::size_t dimensions, int64_t order) {
  std::vector<std::size_t> indices(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i)
    indices[i] = order == MPI_ORDER_FORTRAN ? i : dimensions - 1 - i;
  return indices;
}

// With large counts the integers hold (dimensions, order); without, the order comes last.
LayoutRef subarray(const Contents& contents, const Component& part) {
  const bool large = !contents.large_counts.empty();
  if (contents.integers.size() < 2) return nullptr;
  const std::size_t dimensions = contents.integers[0];
  const int order = large ? contents.integers[1] : contents.integers.back();
  const auto number = [&](std::size_t list, std::size_t i) -> int64_t {
    const std::size_t at = list * dimensions + i;
    return large ? contents.large_counts[at] : contents.integers[1 + at];
  };
  LayoutRef layout = part.layout;
  int64_t stride = part.extent;
  Exact exact;
  for (const std::size_t i : innermost_first(dimensions, order)) {
    const int64_t start_bytes = exact.multiply(number(2, i), stride);
    layout = Layout::shifted(start_bytes, Layout::repeat(number(1, i), stride, layout));
    stride = exact.multiply(stride, number(0, i));
  }
  return exact.ok() ? layout : nullptr;
}

// One dimension of a distributed array as one process sees it: blocks of `block` elements go in
// turn to `processes` processes; this is process number `coordinate`.
struct Distribution {
  int64_t elements;
  int64_t block;
  int64_t processes;
  int64_t coordinate;

  static Distribution of(int64_t elements, int kind, int64_t argument, int64_t processes,
                         int64_t coordinate) {
    int64_t block = argument;
    if (kind == MPI_DISTRIBUTE_NONE)
      block = elements;
    else if (argument == MPI_DISTRIBUTE_DFLT_DARG)
      block = kind == MPI_DISTRIBUTE_BLOCK ? (elements + processes - 1) / processes : 1;
    return {elements, std::clamp<int64_t>(block, 1, std::max<int64_t>(elements, 1)), processes,
            kind == MPI_DISTRIBUTE_NONE ? 0 : coordinate};
  }

  LayoutRef layout(int64_t stride, const LayoutRef& element) const {
    const int64_t blocks = (elements + block - 1) / block;
    if (coordinate >= blocks) return Layout::block(0);
    const int64_t mine = (blocks - coordinate - 1) / processes + 1;
    const int64_t last_start = (coordinate + (mine - 1) * processes) * block;
    const int64_t last_length = std::min(block, elements - last_start);
    const int64_t full = last_length == block ? mine : mine - 1;
    const int64_t spacing = full > 1 ? processes * block * stride : 0;
    return Layout::structure({coordinate * block * stride, last_start * stride},
                             {Layout::repeat(full, spacing, Layout::repeat(block, stride, element)),
                              Layout::repeat(full == mine ? 0 : last_length, stride, element)});
  }
};

// Integers: (processes, rank, dimensions, [sizes,] distributions, arguments, process grid, order);
// if there are large counts, they hold the sizes. Ranks are in C order, whatever the array's order.
LayoutRef distributed_array(const Contents& contents, const Component& part) {
  const bool large = !contents.large_counts.empty();
  const std::vector<int>& integers = contents.integers;
  const std::size_t dimensions = integers[2];
  const int* sizes = &integers[3];
  const int* kinds = large ? sizes : sizes + dimensions;
  const int* arguments = kinds + dimensions;
  const int* grid = arguments + dimensions;

  std::vector<int64_t> coordinates(dimensions);
  int64_t rank = integers[1];
  for (std::size_t i = dimensions; i-- > 0; rank /= grid[i]) coordinates[i] = rank % grid[i];

  LayoutRef layout = part.layout;
  int64_t stride = part.extent;
  Exact exact;
  for (const std::size_t i : innermost_first(dimensions, integers.back())) {
    const int64_t elements = large ? static_cast<int64_t>(contents.large_counts[i]) : sizes[i];
    const int64_t dimension_bytes = exact.multiply(stride, elements);
    if (!exact.ok()) return nullptr;
    layout = Distribution::of(elements, kinds[i], arguments[i], grid[i], coordinates[i])
                 .layout(stride, layout);
    stride = dimension_bytes;
  }
  return layout;
}

// The size of the second component of a predefined pair; 0 if `type` is no pair.
int64_t index_size(MPI_Datatype type, const Envelope& envelope) {
  if (envelope.combiner == value_index) {
    Contents contents;
    MPI_Count size = 0;
    if (!contents.get(type, envelope) || contents.types.size() != 2 ||
        mpi().Type_size_x(contents.types[1], &size) != MPI_SUCCESS)
      return 0;
    return size;
  }
  for (const MPI_Datatype pair : {mpi().float_int, mpi().double_int, mpi().long_int,
                                  mpi().short_int, mpi().two_int, mpi().long_double_int})
    if (type == pair) return sizeof(int);
  return 0;
}

// The layout of a predefined type: one run of bytes, except for pairs with padding between value
// and index.
LayoutRef predefined_layout(MPI_Datatype type, const Envelope& envelope) {
  MPI_Count size = 0, true_lower = 0, true_extent = 0;
  if (mpi().Type_size_x(type, &size) != MPI_SUCCESS ||
      mpi().Type_get_true_extent_x(type, &true_lower, &true_extent) != MPI_SUCCESS)
    return nullptr;
  if (size == 0) return Layout::block(0);
  if (size == true_extent) return Layout::shifted(true_lower, Layout::block(size));
  const int64_t index_bytes = index_size(type, envelope);
  if (index_bytes == 0 || size > true_extent) return nullptr;
  return Layout::structure({true_lower, true_lower + true_extent - index_bytes},
                           {Layout::block(size - index_bytes), Layout::block(index_bytes)});
}

Component decode_component(MPI_Datatype type, int nesting);

std::vector<Component> decode_components(std::span<const MPI_Datatype> types, int nesting) {
  std::unordered_map<MPI_Datatype, Component> known;
  std::vector<Component> parts;
  parts.reserve(types.size());
  for (const MPI_Datatype type : types) {
    const auto [part, is_new] = known.try_emplace(type);
    if (is_new) part->second = decode_component(type, nesting);
    parts.push_back(part->second);
  }
  return parts;
}

LayoutRef derived(MPI_Datatype type, const Envelope& envelope, int nesting) {
  Contents contents;
  if (nesting > deepest_nesting || !contents.get(type, envelope)) return nullptr;
  if (contents.types.empty()) return Layout::block(0);  // a structure without members
  const std::vector<Component> parts = decode_components(contents.types, nesting + 1);
  const Component& part = parts[0];
  Numbers numbers(contents);
  LayoutRef layout;
  switch (envelope.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return part.layout;
    case MPI_COMBINER_SUBARRAY:
      return subarray(contents, part);
    case MPI_COMBINER_DARRAY:
      return distributed_array(contents, part);
    case MPI_COMBINER_CONTIGUOUS:
      layout = part.copies(numbers.next());
      break;
    case MPI_COMBINER_VECTOR:
      layout = vector(numbers, part, false);
      break;
    case MPI_COMBINER_HVECTOR:
    case hvector_integer:
      layout = vector(numbers, part, true);
      break;
    case MPI_COMBINER_INDEXED:
      layout = indexed(numbers, part, false);
      break;
    case MPI_COMBINER_HINDEXED:
    case hindexed_integer:
      layout = indexed(numbers, part, true);
      break;
    case MPI_COMBINER_INDEXED_BLOCK:
      layout = indexed_block(numbers, part, false);
      break;
    case MPI_COMBINER_HINDEXED_BLOCK:
      layout = indexed_block(numbers, part, true);
      break;
    case MPI_COMBINER_STRUCT:
    case struct_integer:
      layout = structure(numbers, parts);
      break;
    default:
      return nullptr;
  }
  return numbers.complete() ? layout : nullptr;
}

Component decode_component(MPI_Datatype type, int nesting) {
  Envelope envelope;
  MPI_Count lower_bound = 0, extent = 0;
  if (!get_envelope(type, envelope) ||
      mpi().Type_get_extent_x(type, &lower_bound, &extent) != MPI_SUCCESS)
    return {};
  return {envelope.owned_by_library() ? predefined_layout(type, envelope)
                                      : derived(type, envelope, nesting),
          extent, lower_bound};
}

}  // namespace

std::optional<Datatype> decode(MPI_Datatype type) try {
  if (type == mpi().datatype_null) return std::nullopt;
  const Component whole = decode_component(type, 0);
  if (!whole.layout) return std::nullopt;
  const Tiling tiling{whole.layout, 0, whole.extent};
  return Datatype{whole.layout, whole.extent, whole.lower_bound, tiling.contiguous()};
} catch (const std::bad_alloc&) {
  return std::nullopt;
}

}  // namespace forebay::mpiio
