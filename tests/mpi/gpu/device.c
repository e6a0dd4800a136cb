#define _GNU_SOURCE
#include "device.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
  char* address;
  char* bytes;
  size_t length;
  enum DeviceKind kind;
} allocations[16];
static int count;

static void* map(int file, size_t bytes, int protection) {
  void* mapping = mmap(NULL, bytes, protection, MAP_SHARED, file, 0);
  if (mapping == MAP_FAILED) abort();
  return mapping;
}

static void* allocate(size_t bytes, enum DeviceKind kind) {
  const int file = memfd_create("device", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, (off_t)bytes) != 0 || count == 16) abort();
  const int protection = kind == device_only ? PROT_NONE : PROT_READ | PROT_WRITE;
  allocations[count].address = map(file, bytes, protection);
  allocations[count].bytes = map(file, bytes, PROT_READ | PROT_WRITE);
  allocations[count].length = bytes;
  allocations[count].kind = kind;
  close(file);
  return allocations[count++].address;
}

void* device_allocate(size_t bytes) { return allocate(bytes, device_only); }
void* device_allocate_managed(size_t bytes) { return allocate(bytes, device_managed); }

static int find(const void* address) {
  const char* byte = address;
  for (int i = 0; i < count; ++i) {
    if (byte >= allocations[i].address && byte < allocations[i].address + allocations[i].length)
      return i;
  }
  return -1;
}

enum DeviceKind device_kind(const void* address) {
  const int found = find(address);
  return found < 0 ? not_device : allocations[found].kind;
}

void* device_bytes(const void* address) {
  const int found = find(address);
  if (found < 0) return (void*)address;
  return allocations[found].bytes + ((const char*)address - allocations[found].address);
}
