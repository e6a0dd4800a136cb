// Preloaded: a firewall between nodes. Forebay's connections to agents time out at once; each
// attempt adds a line with the address to the file that FIREWALL_LOG names. With FIREWALL_LOOPBACK
// it lets those to 127.0.0.1 pass.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int connect(int socket, const struct sockaddr* address, socklen_t size) {
  static int (*real)(int, const struct sockaddr*, socklen_t);
  Dl_info caller;
  const int forebay = dladdr(__builtin_return_address(0), &caller) != 0 &&
                      strstr(caller.dli_fname, "libforebay_") != NULL;
  const struct sockaddr_in* four = (const struct sockaddr_in*)address;
  const int passes = getenv("FIREWALL_LOOPBACK") != NULL && address->sa_family == AF_INET &&
                     four->sin_addr.s_addr == htonl(INADDR_LOOPBACK);
  if (forebay && !passes && (address->sa_family == AF_INET || address->sa_family == AF_INET6)) {
    const int log = open(getenv("FIREWALL_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    char line[2 * sizeof(struct sockaddr_storage) + 1];
    for (socklen_t b = 0; b < size; ++b)
      snprintf(line + 2 * b, 3, "%02x", ((const unsigned char*)address)[b]);
    line[2 * size] = '\n';
    if (log < 0 || write(log, line, 2 * size + 1) != 2 * size + 1) abort();
    close(log);
    errno = ETIMEDOUT;
    return -1;
  }
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "connect");
  return real(socket, address, size);
}
