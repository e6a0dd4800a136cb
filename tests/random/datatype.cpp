// Flattening, building and generating MPI data types; see datatype.h for the notation.
#include "datatype.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace random_io {
namespace {

using Numbers = std::vector<int64_t>;

// Collects the type map of copies of children.
class Flattener {
 public:
  explicit Flattener(Datatype& type) : type_(type) {}

  void place(const Datatype& child, int64_t displacement, int64_t count) {
    if (count <= 0) return;
    const int64_t step = child.extent();
    for (int64_t i = 0; i < count; ++i) {
      for (const Run& run : child.runs) add(displacement + i * step + run.offset, run.length);
    }
    const int64_t last = displacement + (count - 1) * step;
    bound(std::min(displacement, last) + child.lower, std::max(displacement, last) + child.upper);
  }

  void bounds(int64_t lower, int64_t upper) {
    type_.lower = lower;
    type_.upper = upper;
    bounded_ = true;
  }

 private:
  void add(int64_t offset, int64_t length) {
    if (length == 0) return;
    if (!type_.runs.empty() && type_.runs.back().offset + type_.runs.back().length == offset) {
      type_.runs.back().length += length;
    } else {
      type_.runs.push_back({offset, length});
    }
  }
  void bound(int64_t lower, int64_t upper) {
    type_.lower = bounded_ ? std::min(type_.lower, lower) : lower;
    type_.upper = bounded_ ? std::max(type_.upper, upper) : upper;
    bounded_ = true;
  }

  Datatype& type_;
  bool bounded_ = false;
};

// Whether an index of one darray dimension belongs to the process at `coordinate` (MPI 4.1, 5.1.4).
bool owns(int64_t index, int64_t size, int64_t distribution, int64_t argument, int64_t processes,
          int64_t coordinate) {
  if (distribution == 0) return true;
  int64_t block = argument;
  if (block < 0) block = distribution == 1 ? (size + processes - 1) / processes : 1;
  return index / block % processes == coordinate;
}

void flatten_array(Datatype& type, Flattener& flattener) {
  const Datatype& child = *type.children[0];
  const Numbers& n = type.numbers;
  const bool darray = type.kind == "dar";
  const std::size_t head = darray ? 3 : 1, width = darray ? 4 : 3;
  const std::size_t dimensions = (n.size() - head) / width;
  Numbers coordinates(dimensions, 0);
  if (darray) {  // the process grid is in C order, whatever the order of the array
    int64_t rank = n[2];
    for (std::size_t d = dimensions; d-- > 0;) {
      coordinates[d] = rank % n[head + d * width + 3];
      rank /= n[head + d * width + 3];
    }
  }
  Numbers index(dimensions, 0);
  int64_t total = 1;
  for (std::size_t d = 0; d < dimensions; ++d) total *= n[head + d * width];
  for (int64_t element = 0; element < total; ++element) {
    int64_t rest = element;
    bool inside = true;
    for (std::size_t k = 0; k < dimensions; ++k) {
      const std::size_t d = n[0] == 0 ? dimensions - 1 - k : k;  // fastest dimension first
      const int64_t* p = &n[head + d * width];
      const int64_t at = rest % p[0];
      rest /= p[0];
      inside = inside && (darray ? owns(at, p[0], p[1], p[2], p[3], coordinates[d])
                                 : at >= p[2] && at < p[2] + p[1]);
    }
    if (inside) flattener.place(child, element * child.extent(), 1);
  }
  flattener.bounds(0, total * child.extent());
}

bool flatten(Datatype& type) {
  const Numbers& n = type.numbers;
  const std::string& kind = type.kind;
  const Datatype& child = *type.children[0];
  const int64_t extent = child.extent();
  Flattener flattener(type);
  if (kind == "dup" && n.empty()) {
    flattener.place(child, 0, 1);
  } else if (kind == "con" && n.size() == 1) {
    flattener.place(child, 0, n[0]);
  } else if ((kind == "vec" || kind == "hvec") && n.size() == 3) {
    const int64_t stride = kind == "vec" ? n[2] * extent : n[2];
    for (int64_t i = 0; i < n[0]; ++i) flattener.place(child, i * stride, n[1]);
  } else if ((kind == "idx" || kind == "hidx") && n.size() % 2 == 0) {
    const int64_t unit = kind == "idx" ? extent : 1;
    for (std::size_t i = 0; i < n.size(); i += 2) flattener.place(child, n[i + 1] * unit, n[i]);
  } else if ((kind == "idxb" || kind == "hidxb") && !n.empty()) {
    const int64_t unit = kind == "idxb" ? extent : 1;
    for (std::size_t i = 1; i < n.size(); ++i) flattener.place(child, n[i] * unit, n[0]);
  } else if (kind == "str" && n.size() == 2 * type.children.size()) {
    for (std::size_t i = 0; i < type.children.size(); ++i) {
      flattener.place(*type.children[i], n[2 * i + 1], n[2 * i]);
    }
  } else if ((kind == "sub" && n.size() % 3 == 1 && n.size() > 1) ||
             (kind == "dar" && n.size() % 4 == 3 && n.size() > 3)) {
    flatten_array(type, flattener);
    type.explicit_bounds = true;
  } else if (kind == "res" && n.size() == 2) {
    flattener.place(child, 0, 1);
    flattener.bounds(n[0], n[0] + n[1]);
    type.explicit_bounds = true;
  } else {
    return false;
  }
  return true;
}

void summarise(Datatype& type) {
  type.size = 0;
  for (const Run& run : type.runs) {
    type.positions.push_back(type.size);
    type.size += run.length;
  }
  if (type.runs.empty()) return;
  type.true_lower = type.runs[0].offset;
  type.true_upper = type.true_lower;
  for (const Run& run : type.runs) {
    type.true_lower = std::min(type.true_lower, run.offset);
    type.true_upper = std::max(type.true_upper, run.offset + run.length);
  }
}

DatatypeRef predefined(std::string_view text) {
  auto type = std::make_shared<Datatype>();
  type->text = type->kind = text;
  type->base = text[0];
  type->base_size = text[1] - '0';
  type->runs = {{0, type->base_size}};
  type->upper = type->base_size;
  summarise(*type);
  return type;
}

DatatypeRef derive(std::string kind, Numbers numbers, std::vector<DatatypeRef> children) {
  auto type = std::make_shared<Datatype>();
  type->kind = std::move(kind);
  type->numbers = std::move(numbers);
  type->children = std::move(children);
  type->text = type->kind + '(';
  for (std::size_t i = 0; i < type->numbers.size(); ++i) {
    type->text += (i ? "," : "") + std::to_string(type->numbers[i]);
  }
  for (const DatatypeRef& child : type->children) {
    type->text += ';' + child->text;
    type->explicit_bounds = type->explicit_bounds || child->explicit_bounds;
  }
  type->text += ')';
  type->base = type->children[0]->base;
  type->base_size = type->children[0]->base_size;
  if (!flatten(*type)) return nullptr;
  summarise(*type);
  return type;
}

DatatypeRef parse(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && (std::isalnum(static_cast<unsigned char>(text[length])) != 0)) {
    ++length;
  }
  const std::string_view kind = text.substr(0, length);
  text.remove_prefix(length);
  if (kind == "b1" || kind == "i4" || kind == "d8") return predefined(kind);
  if (text.empty() || text[0] != '(') return nullptr;
  text.remove_prefix(1);
  Numbers numbers;
  while (!text.empty() && text[0] != ';') {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return nullptr;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty() && text[0] == ',') text.remove_prefix(1);
  }
  std::vector<DatatypeRef> children;
  while (!text.empty() && text[0] == ';') {
    text.remove_prefix(1);
    children.push_back(parse(text));
    if (!children.back()) return nullptr;
  }
  if (text.empty() || text[0] != ')' || children.empty()) return nullptr;
  text.remove_prefix(1);
  return derive(std::string(kind), std::move(numbers), std::move(children));
}

// Splits the numbers after the first `skip` into `width` interleaved lists of the wanted types.
template <typename Value>
std::vector<Value> column(const Numbers& numbers, std::size_t skip, std::size_t width,
                          std::size_t which) {
  std::vector<Value> values;
  for (std::size_t i = skip + which; i < numbers.size(); i += width) {
    values.push_back(static_cast<Value>(numbers[i]));
  }
  return values;
}

#if MPI_VERSION >= 4
constexpr bool kLargeCounts = true;
#else
constexpr bool kLargeCounts = false;
#endif

MPI_Datatype build_small(const Datatype& type, const std::vector<MPI_Datatype>& old) {
  const Numbers& n = type.numbers;
  const std::string& kind = type.kind;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const auto number = [&](std::size_t i) { return static_cast<int>(n[i]); };
  const auto ints = [&](std::size_t skip, std::size_t width, std::size_t which) {
    return column<int>(n, skip, width, which);
  };
  const auto bytes = [&](std::size_t skip, std::size_t width, std::size_t which) {
    return column<MPI_Aint>(n, skip, width, which);
  };
  if (kind == "dup") MPI_Type_dup(old[0], &made);
  if (kind == "con") MPI_Type_contiguous(number(0), old[0], &made);
  if (kind == "vec") MPI_Type_vector(number(0), number(1), number(2), old[0], &made);
  if (kind == "hvec") MPI_Type_create_hvector(number(0), number(1), n[2], old[0], &made);
  const int half = static_cast<int>(n.size() / 2);
  if (kind == "idx") {
    MPI_Type_indexed(half, ints(0, 2, 0).data(), ints(0, 2, 1).data(), old[0], &made);
  }
  if (kind == "hidx") {
    MPI_Type_create_hindexed(half, ints(0, 2, 0).data(), bytes(0, 2, 1).data(), old[0], &made);
  }
  const int tail = static_cast<int>(n.size()) - 1;
  if (kind == "idxb") {
    MPI_Type_create_indexed_block(tail, number(0), ints(1, 1, 0).data(), old[0], &made);
  }
  if (kind == "hidxb") {
    MPI_Type_create_hindexed_block(tail, number(0), bytes(1, 1, 0).data(), old[0], &made);
  }
  if (kind == "str") {
    MPI_Type_create_struct(half, ints(0, 2, 0).data(), bytes(0, 2, 1).data(), old.data(), &made);
  }
  if (kind == "sub") {
    MPI_Type_create_subarray(static_cast<int>(n.size() / 3), ints(1, 3, 0).data(),
                             ints(1, 3, 1).data(), ints(1, 3, 2).data(),
                             n[0] == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, old[0], &made);
  }
  if (kind == "dar") {
    std::vector<int> distributions = ints(3, 4, 1), arguments = ints(3, 4, 2);
    for (int& d : distributions) {
      d = d == 0 ? MPI_DISTRIBUTE_NONE : d == 1 ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
    }
    for (int& a : arguments) a = a < 0 ? MPI_DISTRIBUTE_DFLT_DARG : a;
    MPI_Type_create_darray(number(1), number(2), static_cast<int>((n.size() - 3) / 4),
                           ints(3, 4, 0).data(), distributions.data(), arguments.data(),
                           ints(3, 4, 3).data(), n[0] == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                           old[0], &made);
  }
  if (kind == "res") MPI_Type_create_resized(old[0], n[0], n[1], &made);
  return made;
}

#if MPI_VERSION >= 4
MPI_Datatype build_large(const Datatype& type, const std::vector<MPI_Datatype>& old) {
  const Numbers& n = type.numbers;
  const std::string& kind = type.kind;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const auto counts = [&](std::size_t skip, std::size_t width, std::size_t which) {
    return column<MPI_Count>(n, skip, width, which);
  };
  const auto half = static_cast<MPI_Count>(n.size() / 2);
  const auto tail = static_cast<MPI_Count>(n.size()) - 1;
  if (kind == "con") MPI_Type_contiguous_c(n[0], old[0], &made);
  if (kind == "vec") MPI_Type_vector_c(n[0], n[1], n[2], old[0], &made);
  if (kind == "hvec") MPI_Type_create_hvector_c(n[0], n[1], n[2], old[0], &made);
  if (kind == "idx") {
    MPI_Type_indexed_c(half, counts(0, 2, 0).data(), counts(0, 2, 1).data(), old[0], &made);
  }
  if (kind == "hidx") {
    MPI_Type_create_hindexed_c(half, counts(0, 2, 0).data(), counts(0, 2, 1).data(), old[0], &made);
  }
  if (kind == "idxb") {
    MPI_Type_create_indexed_block_c(tail, n[0], counts(1, 1, 0).data(), old[0], &made);
  }
  if (kind == "hidxb") {
    MPI_Type_create_hindexed_block_c(tail, n[0], counts(1, 1, 0).data(), old[0], &made);
  }
  if (kind == "str") {
    MPI_Type_create_struct_c(half, counts(0, 2, 0).data(), counts(0, 2, 1).data(), old.data(),
                             &made);
  }
  if (kind == "sub") {
    MPI_Type_create_subarray_c(static_cast<int>(n.size() / 3), counts(1, 3, 0).data(),
                               counts(1, 3, 1).data(), counts(1, 3, 2).data(),
                               n[0] == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, old[0], &made);
  }
  if (kind == "res") MPI_Type_create_resized_c(old[0], n[0], n[1], &made);
  return made;
}
#endif

MPI_Datatype build(const Datatype& type, bool large) {
  if (type.kind == "b1") return MPI_BYTE;
  if (type.kind == "i4") return MPI_INT;
  if (type.kind == "d8") return MPI_DOUBLE;
  std::vector<MPI_Datatype> old;
  for (const DatatypeRef& child : type.children) old.push_back(build(*child, large));
  MPI_Datatype made = MPI_DATATYPE_NULL;
#if MPI_VERSION >= 4
  if (large) made = build_large(type, old);
#endif
  if (made == MPI_DATATYPE_NULL) made = build_small(type, old);
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (!type.children[i]->predefined()) MPI_Type_free(&old[i]);
  }
  return made;
}

bool acceptable(const Datatype& type, const DatatypeLimits& limits) {
  if (type.size == 0 || type.runs.size() > 200 || type.extent() > (32 << 10)) return false;
  if (type.true_upper - type.true_lower > (64 << 10) || type.true_lower < -(32 << 10)) return false;
  if (!limits.data_outside_bounds &&
      (type.true_lower < type.lower || type.true_upper > type.upper)) {
    return false;
  }
  if (limits.file_type) return type.lower >= 0 && type.true_lower >= 0 && type.ascending();
  if (!limits.negative_bounds && (type.lower < 0 || type.true_lower < 0)) return false;
  return type.extent() > 0 && type.tiles_disjointly();
}

int64_t random_gap(RandomSource& random) {
  return random.one_in(6) ? random.between(0, 600) : random.between(0, 9);
}

DatatypeRef random_node(RandomSource& random, const DatatypeRef& child, int64_t unit,
                        const DatatypeLimits& limits) {
  const int64_t extent = child->extent();
  const int64_t least = limits.zero_length_blocks && random.one_in(8) ? 0 : 1;
  const auto length = [&] { return random.between(least, 4); };
  const auto displacements = [&](bool with_lengths, int64_t scale) {
    Numbers numbers;
    const int64_t blocks = random.between(1, 6);
    int64_t at = random_gap(random);
    if (!limits.file_type && limits.negative_bounds && random.one_in(3)) {
      at -= random.between(0, 40);
    }
    std::vector<std::pair<int64_t, int64_t>> list;
    const int64_t fixed = random.between(1, 4);
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t l = with_lengths ? length() : fixed;
      list.push_back({l, at * scale});
      at += (l * extent + unit - 1) / (scale == 1 ? unit : extent) + random_gap(random);
    }
    if (scale == 1) {
      for (auto& block : list) block.second *= unit;
    }
    if (!limits.file_type && random.one_in(2)) std::swap(list.front(), list.back());
    if (!with_lengths) numbers.push_back(fixed);
    for (const auto& block : list) {
      if (with_lengths) numbers.push_back(block.first);
      numbers.push_back(block.second);
    }
    return numbers;
  };
  switch (random.below(limits.darray ? 12 : 11)) {
    case 0:
      return derive("dup", {}, {child});
    case 1:
      return derive("con", {random.between(1, 9)}, {child});
    case 2: {
      const int64_t l = random.between(1, 5);
      return derive("vec", {random.between(1, 6), l, l + random_gap(random)}, {child});
    }
    case 3: {
      const int64_t l = random.between(1, 5);
      int64_t stride = (l * extent + unit - 1) / unit * unit + random_gap(random) * unit;
      if (!limits.file_type && limits.negative_bounds && random.one_in(3)) stride = -stride;
      return derive("hvec", {random.between(1, 6), l, stride}, {child});
    }
    case 4: {
      Numbers numbers = displacements(true, 2);
      for (std::size_t i = 1; i < numbers.size(); i += 2) numbers[i] /= 2;
      return derive("idx", numbers, {child});
    }
    case 5:
      return derive("hidx", displacements(true, 1), {child});
    case 6: {
      Numbers numbers = displacements(false, 2);
      for (std::size_t i = 1; i < numbers.size(); ++i) numbers[i] /= 2;
      return derive("idxb", numbers, {child});
    }
    case 7:
      return derive("hidxb", displacements(false, 1), {child});
    case 8: {
      const Numbers numbers = displacements(true, 1);
      return derive("str", numbers, std::vector<DatatypeRef>(numbers.size() / 2, child));
    }
    case 9: {
      Numbers numbers{random.below(2)};
      const int64_t dimensions = random.between(1, 3);
      for (int64_t d = 0; d < dimensions; ++d) {
        const int64_t size = random.between(1, 7), part = random.between(1, size);
        numbers.insert(numbers.end(), {size, part, random.between(0, size - part)});
      }
      return derive("sub", numbers, {child});
    }
    case 10: {
      const int64_t lower =
          limits.file_type || !limits.negative_bounds ? 0 : -random.between(0, 6) * unit;
      const int64_t span = (child->true_upper - std::min(lower, child->true_lower)) / unit * unit;
      return derive("res", {lower, span + random_gap(random) * unit}, {child});
    }
    default: {
      Numbers numbers{random.below(2), 1, 0};
      const int64_t dimensions = random.between(1, 3);
      for (int64_t d = 0; d < dimensions; ++d) {
        const int64_t size = random.between(1, 8), distribution = random.below(3);
        const int64_t processes = distribution == 0 ? 1 : random.between(1, 3);
        int64_t argument = -1;
        if (distribution == 1 && random.one_in(2)) {
          argument = (size + processes - 1) / processes + random.below(2);
        }
        if (distribution == 2 && random.one_in(2)) argument = random.between(1, 3);
        numbers[1] *= processes;
        numbers.insert(numbers.end(), {size, distribution, argument, processes});
      }
      numbers[2] = random.below(numbers[1]);
      return derive("dar", numbers, {child});
    }
  }
}

}  // namespace

bool Datatype::ascending() const {
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].offset < runs[i - 1].offset + runs[i - 1].length) return false;
  }
  return runs.empty() || extent() >= true_upper - true_lower;
}

bool Datatype::tiles_disjointly() const {
  std::vector<Run> sorted = runs;
  std::sort(sorted.begin(), sorted.end(),
            [](const Run& a, const Run& b) { return a.offset < b.offset; });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].offset < sorted[i - 1].offset + sorted[i - 1].length) return false;
  }
  return runs.empty() || extent() >= true_upper - true_lower;
}

DatatypeRef parse_datatype(std::string_view text) {
  static std::map<std::string, DatatypeRef, std::less<>> known;
  const auto found = known.find(text);
  if (found != known.end()) return found->second;
  std::string_view rest = text;
  DatatypeRef type = parse(rest);
  if (!rest.empty()) type = nullptr;
  if (known.size() > 20000) known.clear();
  known.emplace(text, type);
  return type;
}

MPI_Datatype make_handle(const Datatype& type, bool large) {
  MPI_Datatype handle = build(type, large && kLargeCounts);
  if (!type.predefined()) MPI_Type_commit(&handle);
  return handle;
}

void free_handle(const Datatype& type, MPI_Datatype handle) {
  if (!type.predefined()) MPI_Type_free(&handle);
}

DatatypeRef random_datatype(RandomSource& random, const DatatypeRef& element,
                            const DatatypeLimits& limits) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    DatatypeRef type = element;
    const int64_t depth = limits.nested ? random.between(1, 3) : 1;
    for (int64_t level = 0; level < depth && type; ++level) {
      const bool structure = type->kind == "str" || type->kind == "dar";  // of which that is made
      if (!limits.gapless_structs_within && structure && type->runs.size() == 1) break;
      type = random_node(random, type, element->extent(), limits);
      if (type && (type->runs.size() > 400 || type->size == 0)) type = nullptr;
    }
    if (type && acceptable(*type, limits)) return type;
  }
  return element;
}

}  // namespace random_io
