// A stand-in for libze_loader.so.1 with two drivers; the second one has the memory.
#include <stdint.h>
#include <stdlib.h>

#include "device.h"

enum { uninitialized = 0x78000001, memory_device = 2, memory_shared = 3 };

struct ContextDescription {
  int structure_type;
  const void* next;
  uint32_t flags;
};
struct AllocationProperties {
  int structure_type;
  void* next;
  int type;
  uint64_t id;
  uint64_t page_size;
};

static int initialized;
static char drivers[2];

int zeInit(unsigned flags) {
  initialized = 1;
  return (int)flags;
}

int zeDriverGet(uint32_t* count, void** found) {
  if (!initialized) return uninitialized;
  for (uint32_t d = 0; d < 2 && d < *count; ++d) found[d] = drivers + d;
  *count = 2;
  return 0;
}

int zeContextCreate(void* driver, const struct ContextDescription* description, void** context) {
  if (description->structure_type != 0xd) return 1;
  *context = driver;
  return 0;
}

int zeMemGetAllocProperties(void* context, const void* address,
                            struct AllocationProperties* properties, void** device) {
  if (properties->structure_type != 0x17 || device != NULL) return 1;
  const enum DeviceKind kind = context == drivers + 1 ? device_kind(address) : not_device;
  properties->type = kind == device_only      ? memory_device
                     : kind == device_managed ? memory_shared
                                              : 0;
  return 0;
}
