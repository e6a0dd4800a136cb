#include "agent/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstring>

namespace forebay::agent {
namespace {

// The address of an interface; zero if others cannot reach it or it is of another family.
Ip ip_of(const sockaddr* address) {
  in6_addr ip{};
  if (address->sa_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(address);
    ip.s6_addr[10] = ip.s6_addr[11] = 0xff;
    std::memcpy(ip.s6_addr + 12, &four->sin_addr, sizeof four->sin_addr);
  } else if (address->sa_family == AF_INET6) {
    ip = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (IN6_IS_ADDR_LINKLOCAL(&ip)) return {};  // means nothing on other nodes
  }
  Ip bytes{};
  std::memcpy(bytes.data(), &ip, sizeof ip);
  return bytes;
}

}  // namespace

FabricName FabricName::of(std::span<const std::byte> name) {
  FabricName made;
  if (name.size() > most) return made;
  made.bytes = std::ssize(name);
  std::memcpy(made.value.data(), name.data(), name.size());
  return made;
}

Address own_address() {
  Address own;
  std::size_t count = 0;
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) == 0) {
    // IPv4 first: where both work, it is what clusters configure.
    for (const int family : {AF_INET, AF_INET6}) {
      for (const ifaddrs* at = interfaces; at != nullptr; at = at->ifa_next) {
        if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != family) continue;
        if ((at->ifa_flags & IFF_UP) == 0 || (at->ifa_flags & IFF_LOOPBACK) != 0) continue;
        const Ip ip = ip_of(at->ifa_addr);
        if (ip != Ip{} && count < Address::most - 1) own.ips[count++] = ip;
      }
    }
    freeifaddrs(interfaces);
  }
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  own.ips[count] = ip_of(reinterpret_cast<const sockaddr*>(&loopback));
  return own;
}

}  // namespace forebay::agent
