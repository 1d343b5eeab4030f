// Functions of the addon other than kernels: threads, blocks of memory, locks between processes.
#include "system.h"

#include <cstdint>
#include <string>

#include "../platform/platform.h"
#include "async_pool.h"

namespace skein {

static napi_value refuse(napi_env env, const char* function, const char* expected) {
  const std::string text = std::string("internal: ") + function + ": expected " + expected + ". Please report this.";
  napi_throw_type_error(env, "SKEIN_INTERNAL", text.c_str());
  return nullptr;
}

static napi_value to_number(napi_env env, double number) {
  napi_value value = nullptr;
  napi_create_double(env, number, &value);
  return value;
}

struct Block {
  void* data = nullptr;
  size_t bytes = 0;
};

static bool read_block(napi_env env, napi_callback_info info, Block& block) {
  size_t count = 1;
  napi_value value = nullptr;
  napi_typedarray_type type = napi_int8_array;
  napi_get_cb_info(env, info, &count, &value, nullptr, nullptr);
  return count == 1 &&
         napi_get_typedarray_info(env, value, &type, &block.bytes, &block.data, nullptr, nullptr) == napi_ok &&
         type == napi_uint8_array;
}

napi_value set_threads_js(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value value = nullptr;
  double threads = 0;
  napi_get_cb_info(env, info, &count, &value, nullptr, nullptr);
  if (count != 1 || napi_get_value_double(env, value, &threads) != napi_ok || !(threads >= 1 && threads <= 1024))
    return refuse(env, "setThreads", "a number from 1 to 1024");
  set_threads(static_cast<int>(threads));
  pool_set_size(static_cast<int>(threads));
  return nullptr;
}

// The budget is one for the whole process: a worker thread that loads the library finds the one that is there.
napi_value get_threads_js(napi_env env, napi_callback_info) { return to_number(env, thread_budget()); }

// Takes a new block (a Uint8Array) into use and returns its address modulo 4096 (a memory page), so that what is
// handed out can be aligned. Huge pages are requested for large blocks: a random row then costs one address translation less, and a
// fresh block is there after a few page faults instead of thousands.
napi_value prepare_block_js(napi_env env, napi_callback_info info) {
  Block block;
  if (!read_block(env, info, block)) return refuse(env, "prepareBlock", "a Uint8Array");
  platform::advise_huge_pages(block.data, block.bytes, 2);
  return to_number(env, static_cast<double>(reinterpret_cast<std::uintptr_t>(block.data) & 4095));
}

// Gives the whole pages of a Uint8Array's memory back to the system; its contents are lost (zeros, on Linux) and the array
// stays where it is. Returns the number of bytes released.
napi_value release_block_js(napi_env env, napi_callback_info info) {
  Block block;
  if (!read_block(env, info, block)) return refuse(env, "releaseBlock", "a Uint8Array");
  return to_number(env, static_cast<double>(platform::release_pages(block.data, block.bytes)));
}

napi_value lock_file_js(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value values[2];
  double file = -1;
  bool lock = false;
  napi_get_cb_info(env, info, &count, values, nullptr, nullptr);
  if (count != 2 || napi_get_value_double(env, values[0], &file) != napi_ok || !(file >= 0 && file < 2147483648.0) ||
      napi_get_value_bool(env, values[1], &lock) != napi_ok)
    return refuse(env, "lockFile", "a file descriptor and a boolean");
  const std::string error = platform::lock_file(static_cast<i64>(file), lock);
  if (!error.empty()) napi_throw_error(env, "SKEIN_LOCK", error.c_str());
  return nullptr;
}

}  // namespace skein
