// A stand-in for libamdhip64.so: an unknown address becomes the thread's last error.
#include "device.h"

static int last_error;

struct Attributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int managed;
  unsigned flags;
};

int hipInit(unsigned flags) { return (int)flags; }
int hipPeekAtLastError(void) { return last_error; }
int hipGetLastError(void) {
  const int error = last_error;
  last_error = 0;
  return error;
}

int hipPointerGetAttributes(struct Attributes* attributes, const void* address) {
  const enum DeviceKind kind = device_kind(address);
  if (kind == not_device) return last_error = 1;
  *attributes = (struct Attributes){0};
  attributes->device_pointer = (void*)address;
  attributes->managed = kind == device_managed;
  return 0;
}
