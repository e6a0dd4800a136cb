// A stand-in for libcuda.so.1.
#include "device.h"

int cuInit(unsigned flags) { return (int)flags; }

int cuPointerGetAttribute(void* answer, int attribute, unsigned long long address) {
  enum { memory_type = 2, is_managed = 8 };
  enum { invalid_value = 1 };
  const enum DeviceKind kind = device_kind((const void*)address);
  if (kind == not_device) return invalid_value;
  if (attribute == memory_type)
    *(unsigned*)answer = 2;  // also the type of managed memory
  else if (attribute == is_managed)
    *(unsigned*)answer = kind == device_managed;
  else
    return invalid_value;
  return 0;
}
