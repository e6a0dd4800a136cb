#include "mpiio/job/notices.h"

#include <cstdio>
#include <cstring>

namespace forebay::mpiio {
namespace {

class StandardError final : public runtime::Notices {
  void saved(const std::string& path, int64_t bytes) override {
    std::fprintf(stderr, "forebay: %lld bytes that an earlier job had written were saved to %s\n",
                 static_cast<long long>(bytes), path.c_str());
  }

  void missing(const std::string& path, int64_t bytes, const std::string& problem,
               const std::string& arena_dir) override {
    const std::string folder = arena_dir.empty() ? "" : " " + arena_dir;
    std::fprintf(stderr,
                 "forebay: %lld bytes that an earlier job had written to %s are still missing: "
                 "%s; this is said once, forebay recover --list%s shows it\n",
                 static_cast<long long>(bytes), path.c_str(), problem.c_str(), folder.c_str());
  }

  void no_memory_for_pages(const char* path) override {
    std::fprintf(
        stderr,
        "forebay: there is no shared memory for pages of %s: its accesses go past the cache; "
        "FOREBAY_ARENA_DIR names another place for it\n",
        path);
  }

  void not_traced(const std::string& path, int error) override {
    std::fprintf(stderr, "forebay: nothing is traced: %s: %s\n", path.c_str(),
                 std::strerror(error));
  }

  void trace_lacks(const std::string& path, uint64_t accesses, int error) override {
    std::fprintf(stderr, "forebay: %s lacks %llu accesses: %s\n", path.c_str(),
                 static_cast<unsigned long long>(accesses), std::strerror(error));
  }
};

constinit StandardError standard_error;

}  // namespace

runtime::Notices& notices() { return standard_error; }

}  // namespace forebay::mpiio
