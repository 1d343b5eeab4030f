// Linux and macOS.
#if !defined(_WIN32)

#include <dlfcn.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#endif

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "platform.h"

namespace skein {
namespace platform {

void* allocate_aligned(size_t alignment, size_t bytes) { return std::aligned_alloc(alignment, bytes); }

void free_aligned(void* data) { std::free(data); }

void advise_huge_pages(void* data, size_t bytes, size_t least) {
#if defined(__linux__)
  constexpr std::uintptr_t kHuge = std::uintptr_t{2} << 20;
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + kHuge - 1) / kHuge * kHuge;
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / kHuge * kHuge;
  if (end >= begin + least * kHuge && end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#else
  (void)data;
  (void)bytes;
  (void)least;
#endif
}

i64 release_pages(void* data, size_t bytes) {
#if defined(__linux__)
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / page * page;
  if (end > begin && madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED) == 0)
    return static_cast<i64>(end - begin);
#else
  (void)data;
  (void)bytes;
#endif
  return 0;
}

std::string lock_file(i64 file, bool lock) {
  int status = 0;
  do {
    status = flock(static_cast<int>(file), lock ? LOCK_EX : LOCK_UN);
  } while (status != 0 && errno == EINTR);
  return status == 0 ? std::string() : std::string(std::strerror(errno));
}

i64 read_at(i64 file, void* to, i64 bytes, i64 position) {
  for (;;) {
    const ssize_t got = pread(static_cast<int>(file), to, static_cast<size_t>(bytes), static_cast<off_t>(position));
    if (got >= 0) return got;
    if (errno != EINTR) throw std::runtime_error(std::strerror(errno));
  }
}

void pin_library() {
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&pin_library), &self) != 0) dlopen(self.dli_fname, RTLD_NOW | RTLD_NODELETE);
}

void lower_thread_priority() {
#if defined(__linux__)
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 10);
#endif
}

}  // namespace platform
}  // namespace skein

#endif
