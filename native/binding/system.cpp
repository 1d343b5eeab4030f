// What JavaScript cannot ask of the system itself: memory given back while its array lives on, locks between processes.
#include "system.h"

#include <cerrno>
#include <cstring>

#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bind.h"

namespace skein {

// Gives the whole pages of a typed array's memory back to the system; its contents are lost (zeros, on Linux) and the array
// stays where it is. Returns how many bytes were given back.
napi_value release_block_js(napi_env env, napi_callback_info info) {
  Call call(env, info, "releaseBlock");
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  if (napi_get_typedarray_info(env, call.values[0], &type, &length, &data, nullptr, nullptr) != napi_ok ||
      type != napi_uint8_array) {
    call.fail(0, "a Uint8Array");
    return nullptr;
  }
  i64 released = 0;
#if defined(__linux__)
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + length) / page * page;
  if (end > begin && madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED) == 0)
    released = static_cast<i64>(end - begin);
#endif
  return to_js(env, released);
}

// Waits for the only lock on an open file, or gives it up. The system gives up those of a process that has ended.
napi_value lock_file_js(napi_env env, napi_callback_info info) {
  Call call(env, info, "lockFile");
  const i64 file = read_argument<i64>(call, 0);
  const bool lock = read_argument<bool>(call, 1);
  if (call.failed) return nullptr;
  int status = 0;
  do {
    status = flock(static_cast<int>(file), lock ? LOCK_EX : LOCK_UN);
  } while (status != 0 && errno == EINTR);
  if (status != 0) napi_throw_error(env, "SKEIN_LOCK", std::strerror(errno));
  return nullptr;
}

}  // namespace skein
