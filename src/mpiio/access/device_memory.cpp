#include "mpiio/access/device_memory.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "mpiio/library/runs_type.h"

namespace forebay::mpiio {
namespace {

// A function in a library that was found at run time. Two threads that look for it at once find the
// same.
template <typename Function>
class Imported {
 public:
  bool find(void* library, const char* name) {
    auto* const function = reinterpret_cast<Function*>(dlsym(library, name));
    function_.store(function, std::memory_order_relaxed);
    return function != nullptr;
  }
  template <typename... Arguments>
  auto operator()(Arguments... arguments) const {
    return function_.load(std::memory_order_relaxed)(arguments...);
  }

 private:
  std::atomic<Function*> function_{nullptr};
};

// The parts of the three interfaces that are used, as their headers declare them: no header is
// needed to build.

// CUDA's driver (cuda.h). It returns an error for addresses that it does not know, and until the
// program has initialised it.
namespace cuda {
constexpr int memory_type = 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr int is_managed = 8;   // CU_POINTER_ATTRIBUTE_IS_MANAGED
constexpr unsigned device = 2;  // CU_MEMORYTYPE_DEVICE
Imported<int(void* answer, int attribute, unsigned long long address)> get_attribute;

bool connect(void* library) { return get_attribute.find(library, "cuPointerGetAttribute"); }

bool holds(const void* address) {
  const unsigned long long number = reinterpret_cast<uintptr_t>(address);
  unsigned type = 0, managed = 0;
  if (get_attribute(&type, memory_type, number) != 0 || type != device) return false;
  return get_attribute(&managed, is_managed, number) != 0 || managed == 0;
}
}  // namespace cuda

// HIP (hip_runtime_api.h). The numbers of memory types changed with ROCm 6. So memory is taken for
// a device's if it has a device address and no host address.
namespace hip {
struct Attributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int managed;
  unsigned flags;
};
Imported<int(Attributes*, const void* address)> get_attributes;
Imported<int()> peek_at_last_error;
Imported<int()> get_last_error;

bool connect(void* library) {
  return get_attributes.find(library, "hipPointerGetAttributes") &&
         peek_at_last_error.find(library, "hipPeekAtLastError") &&
         get_last_error.find(library, "hipGetLastError");
}

bool holds(const void* address) {
  // An address that HIP does not know sets HIP's last error, which the program must not find later.
  const bool was_clear = peek_at_last_error() == 0;
  Attributes attributes{};
  if (get_attributes(&attributes, address) != 0) {
    if (was_clear) (void)get_last_error();
    return false;
  }
  return attributes.device_pointer != nullptr && attributes.host_pointer == nullptr &&
         attributes.managed == 0;
}
}  // namespace hip

// Level Zero (ze_api.h). A driver knows its memory in any context, so one context of Forebay's for
// each driver is enough. They are made once the program has initialised the drivers.
namespace level_zero {
constexpr int context_description = 0xd;     // ZE_STRUCTURE_TYPE_CONTEXT_DESC
constexpr int allocation_properties = 0x17;  // ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES
constexpr int device = 2;                    // ZE_MEMORY_TYPE_DEVICE
constexpr uint32_t most_drivers = 8;
struct ContextDescription {
  int structure_type = context_description;
  const void* next = nullptr;
  uint32_t flags = 0;
};
struct AllocationProperties {
  int structure_type = allocation_properties;
  void* next = nullptr;
  int type = 0;
  uint64_t id = 0;
  uint64_t page_size = 0;
};
Imported<int(uint32_t* count, void** drivers)> get_drivers;
Imported<int(void* driver, const ContextDescription*, void** context)> create_context;
Imported<int(void* context, const void* address, AllocationProperties*, void** device)>
    get_properties;
std::array<void*, most_drivers> contexts;
std::atomic<uint32_t> context_count{0};
std::mutex contexts_mutex;

bool connect(void* library) {
  return get_drivers.find(library, "zeDriverGet") &&
         create_context.find(library, "zeContextCreate") &&
         get_properties.find(library, "zeMemGetAllocProperties");
}

void make_contexts() {
  const std::lock_guard guard(contexts_mutex);
  if (context_count.load() != 0) return;
  std::array<void*, most_drivers> drivers{};
  uint32_t count = most_drivers;
  if (get_drivers(&count, drivers.data()) != 0) return;  // the program has not initialised them yet
  const ContextDescription description;
  uint32_t made = 0;
  for (uint32_t d = 0; d < std::min(count, most_drivers); ++d) {
    if (create_context(drivers[d], &description, &contexts[made]) == 0) ++made;
  }
  context_count.store(made, std::memory_order_release);
}

bool holds(const void* address) {
  if (context_count.load(std::memory_order_acquire) == 0) make_contexts();
  const uint32_t count = context_count.load(std::memory_order_acquire);
  return std::any_of(contexts.begin(), contexts.begin() + count, [address](void* context) {
    AllocationProperties properties;
    void** const no_device = nullptr;
    return get_properties(context, address, &properties, no_device) == 0 &&
           properties.type == device;
  });
}
}  // namespace level_zero

struct GpuLibrary {
  const char* prefix;  // beginning of the file's name; a version may follow
  bool (*connect)(void* library);
  // Whether the address is in memory that the host must not touch.
  bool (*holds)(const void* address);
  std::atomic<bool> connected{false};
};
GpuLibrary gpu_libraries[] = {
    {"libcuda.so", cuda::connect, cuda::holds},
    {"libamdhip64.so", hip::connect, hip::holds},
    {"libze_loader.so", level_zero::connect, level_zero::holds},
};

std::atomic<bool> told_of_objects{false};
std::atomic<unsigned long long> objects_seen{0};

// How many objects the dynamic linker has ever loaded.
unsigned long long objects_so_far() {
  unsigned long long loaded = 0;
  const auto first = [](dl_phdr_info* object, std::size_t, void* count) {
    *static_cast<unsigned long long*>(count) = object->dlpi_adds;
    return 1;
  };
  dl_iterate_phdr(first, &loaded);
  return loaded;
}

bool is_called(const std::string& path, const char* prefix) {
  const std::size_t name = path.rfind('/') + 1;  // 0 if there is no slash
  return path.compare(name, std::strlen(prefix), prefix) == 0;
}

int collect_path(dl_phdr_info* object, std::size_t, void* paths) {
  for (const GpuLibrary& library : gpu_libraries) {
    if (is_called(object->dlpi_name, library.prefix))
      static_cast<std::vector<std::string>*>(paths)->emplace_back(object->dlpi_name);
  }
  return 0;
}

// Takes no lock of Forebay's, since the dynamic linker takes its own, which the calling thread may
// hold already.
void look_for_libraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(collect_path, &paths);
  for (const std::string& path : paths) {
    for (GpuLibrary& library : gpu_libraries) {
      if (library.connected.load() || !is_called(path, library.prefix)) continue;
      // The reference also keeps the library from being unloaded.
      void* const object = dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
      if (object != nullptr && library.connect(object))
        library.connected.store(true, std::memory_order_release);
    }
  }
}

bool held_by_gpu(const void* address) {
  return std::any_of(
      std::begin(gpu_libraries), std::end(gpu_libraries), [address](const GpuLibrary& library) {
        return library.connected.load(std::memory_order_acquire) && library.holds(address);
      });
}

bool any_connected() {
  return std::any_of(std::begin(gpu_libraries), std::end(gpu_libraries),
                     [](const GpuLibrary& library) { return library.connected.load(); });
}

}  // namespace

namespace internal {

std::atomic<uint64_t> gpu_library_possible{1};

bool asks_gpu_library(const void* address) {
  uint64_t possible = gpu_library_possible.load();
  const unsigned long long objects = objects_so_far();
  if (objects != objects_seen.load(std::memory_order_acquire)) {
    look_for_libraries();
    objects_seen.store(objects, std::memory_order_release);
  }
  if (any_connected()) return held_by_gpu(address);
  // No GPU library is loaded, until Forebay is told of another object; the exchange fails if that
  // has happened meanwhile.
  if (told_of_objects.load() && (possible & 1))
    gpu_library_possible.compare_exchange_strong(possible, possible - 1);
  return false;
}

}  // namespace internal

void expect_gpu_library() {
  uint64_t possible = internal::gpu_library_possible.load();
  while (!internal::gpu_library_possible.compare_exchange_weak(possible, (possible + 2) | 1)) {
  }
}

void note_loaded_objects() {
  told_of_objects.store(true);
  expect_gpu_library();
}

// Calls exchange() for the buffer's next bytes, which sends them as one message from this rank to
// itself: every MPI library that supports GPUs can send and receive in their memory.
template <typename Exchange>
Status DeviceCopy::exchange_next(int64_t bytes, Exchange exchange) {
  const Extent first = walk_.next(bytes);
  auto* const base = reinterpret_cast<std::byte*>(first.offset);
  if (first.length == bytes) return exchange(base, static_cast<int>(bytes), mpi().byte);
  // Displacements count from the first byte, since libraries examine the address that they are
  // given.
  RunsType runs;
  runs.add(0, first.length);
  for (int64_t left = bytes - first.length; left > 0;) {
    const Extent run = walk_.next(left);
    runs.add(static_cast<MPI_Aint>(run.offset - first.offset), run.length);
    left -= run.length;
  }
  return exchange(base, 1, runs.make());
}

namespace {
constexpr int copy_tag = 0;

Status copied(int code) { return code == MPI_SUCCESS ? Status{} : Status{Code::io, EFAULT, -1}; }
}  // namespace

Status DeviceCopy::to_host(std::byte* host, int64_t bytes) {
  return exchange_next(bytes, [&](std::byte* device, int count, MPI_Datatype type) {
    return copied(mpi().Sendrecv(device, count, type, handle_.rank, copy_tag, host,
                                 static_cast<int>(bytes), mpi().byte, handle_.rank, copy_tag,
                                 handle_.own.comm, MPI_STATUS_IGNORE));
  });
}

Status DeviceCopy::from_host(const std::byte* host, int64_t bytes) {
  return exchange_next(bytes, [&](std::byte* device, int count, MPI_Datatype type) {
    return copied(mpi().Sendrecv(host, static_cast<int>(bytes), mpi().byte, handle_.rank, copy_tag,
                                 device, count, type, handle_.rank, copy_tag, handle_.own.comm,
                                 MPI_STATUS_IGNORE));
  });
}

}  // namespace forebay::mpiio
