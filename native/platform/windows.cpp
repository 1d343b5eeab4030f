// Windows.
#if defined(_WIN32)

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

#include <malloc.h>

#include <stdexcept>

#include "platform.h"

namespace skein {
namespace platform {
namespace {

std::string last_error() {
  const DWORD code = GetLastError();
  char text[512];
  DWORD length = FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, nullptr, code, 0, text,
                                sizeof text, nullptr);
  while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r' || text[length - 1] == '.')) --length;
  return length > 0 ? std::string(text, length) : "error " + std::to_string(code);
}

// A descriptor belongs to the C library that made it, and that is the one inside the Node.js executable, not ours.
HANDLE handle_of(i64 file) {
  using GetHandle = HANDLE (*)(int);
  static const auto get_handle = reinterpret_cast<GetHandle>(
      reinterpret_cast<void*>(GetProcAddress(GetModuleHandleA(nullptr), "uv_get_osfhandle")));
  if (get_handle == nullptr) throw std::runtime_error("this executable does not say what its file descriptors are");
  return get_handle(static_cast<int>(file));
}

OVERLAPPED at_position(i64 position) {
  OVERLAPPED place = {};
  place.Offset = static_cast<DWORD>(static_cast<u64>(position) & 0xffffffffu);
  place.OffsetHigh = static_cast<DWORD>(static_cast<u64>(position) >> 32);
  return place;
}

}  // namespace

void* allocate_aligned(size_t alignment, size_t bytes) { return _aligned_malloc(bytes, alignment); }

void free_aligned(void* data) { _aligned_free(data); }

// Large pages need a privilege that programs do not have by default.
void advise_huge_pages(void*, size_t, size_t) {}

// The memory of an ArrayBuffer is not ours to decommit.
i64 release_pages(void*, size_t) { return 0; }

// A byte far behind the end of any file: unlike flock, a lock here would keep others from reading what it covers.
std::string lock_file(i64 file, bool lock) {
  constexpr i64 kLockedByte = i64{1} << 62;
  try {
    OVERLAPPED place = at_position(kLockedByte);
    const HANDLE handle = handle_of(file);
    const BOOL done = lock ? LockFileEx(handle, LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &place) : UnlockFileEx(handle, 0, 1, 0, &place);
    return done ? std::string() : last_error();
  } catch (const std::exception& error) {
    return error.what();
  }
}

i64 read_at(i64 file, void* to, i64 bytes, i64 position) {
  OVERLAPPED place = at_position(position);
  DWORD got = 0;
  const DWORD most = static_cast<DWORD>(bytes < (i64{1} << 30) ? bytes : i64{1} << 30);
  if (ReadFile(handle_of(file), to, most, &got, &place)) return got;
  if (GetLastError() == ERROR_HANDLE_EOF) return 0;
  throw std::runtime_error(last_error());
}

void pin_library() {
  HMODULE self = nullptr;
  GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                     reinterpret_cast<LPCSTR>(&pin_library), &self);
}

void lower_thread_priority() { SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_BELOW_NORMAL); }

}  // namespace platform
}  // namespace skein

#endif
