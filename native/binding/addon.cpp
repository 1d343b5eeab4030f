// The addon's entry: registers every kernel of kernels.def twice (synchronous, and asynchronous under `async`), the
// thread settings, and what the loader needs to choose and check an addon.
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "bind.h"
#include "kernels.h"
#include "op_codes.h"
#include "system.h"

#ifndef SKEIN_LEVEL
#define SKEIN_LEVEL "portable"
#endif

namespace skein {

void throw_failure(napi_env env, const char* kernel, const char* what) {
  const std::string text = std::string("kernel ") + kernel + " failed: " + what;
  napi_throw_error(env, "SKEIN_KERNEL", text.c_str());
}

static napi_value set_threads_js(napi_env env, napi_callback_info info) {
  Call call(env, info, "setThreads");
  const i64 count = read_argument<i64>(call, 0);
  if (!call.failed) {
    set_threads(static_cast<int>(count));
    pool_set_size(static_cast<int>(count));
  }
  return nullptr;
}

// Large blocks ask for huge pages: a random row then costs one address translation less, and a fresh block is there
// after a few page faults instead of thousands. Only advice; a system that does not follow it loses nothing else.
static void advise_huge_pages(void* data, size_t bytes) {
#if defined(__linux__)
  constexpr std::uintptr_t kHuge = std::uintptr_t{2} << 20;
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + kHuge - 1) / kHuge * kHuge;
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / kHuge * kHuge;
  if (end >= begin + 2 * kHuge) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#else
  (void)data;
  (void)bytes;
#endif
}

// Takes a new block (a Uint8Array) into use and returns its address modulo 4096 (a memory page), so that what is
// handed out can be aligned.
static napi_value prepare_block_js(napi_env env, napi_callback_info info) {
  Call call(env, info, "prepareBlock");
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  if (napi_get_typedarray_info(env, call.values[0], &type, &length, &data, nullptr, nullptr) != napi_ok) {
    call.fail(0, "a Uint8Array");
    return nullptr;
  }
  advise_huge_pages(data, length);
  return to_js(env, static_cast<i64>(reinterpret_cast<std::uintptr_t>(data) & 4095));
}

template <size_t Count>
static napi_value string_array(napi_env env, const char* const (&names)[Count]) {
  napi_value list = nullptr;
  napi_create_array_with_length(env, Count, &list);
  for (size_t i = 0; i < Count; ++i) {
    napi_value name = nullptr;
    napi_create_string_utf8(env, names[i], NAPI_AUTO_LENGTH, &name);
    napi_set_element(env, list, static_cast<u32>(i), name);
  }
  return list;
}

template <bool Async>
static void register_kernels(napi_env env, napi_value target) {
#define FLOAT_KERNEL(js_name, cpp_name)                                                                \
  {                                                                                                    \
    napi_value fn = nullptr;                                                                           \
    napi_create_function(env, #js_name, NAPI_AUTO_LENGTH,                                              \
      [](napi_env e, napi_callback_info info) -> napi_value {                                          \
        Call call(e, info, #js_name);                                                                  \
        return is_double_call(call) ? invoke(call, Async, &cpp_name<double>)                           \
                                    : invoke(call, Async, &cpp_name<float>);                           \
      }, nullptr, &fn);                                                                                \
    napi_set_named_property(env, target, #js_name, fn);                                                \
  }
#define KERNEL(js_name, cpp_name)                                                                      \
  {                                                                                                    \
    napi_value fn = nullptr;                                                                           \
    napi_create_function(env, #js_name, NAPI_AUTO_LENGTH,                                              \
      [](napi_env e, napi_callback_info info) -> napi_value {                                          \
        Call call(e, info, #js_name);                                                                  \
        return invoke(call, Async, &cpp_name);                                                         \
      }, nullptr, &fn);                                                                                \
    napi_set_named_property(env, target, #js_name, fn);                                                \
  }
#include "kernels.def"
#undef FLOAT_KERNEL
#undef KERNEL
}

static void set_function(napi_env env, napi_value target, const char* name, napi_callback callback) {
  napi_value fn = nullptr;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &fn);
  napi_set_named_property(env, target, name, fn);
}

static void set_string(napi_env env, napi_value target, const char* name, const char* text) {
  napi_value value = nullptr;
  napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value);
  napi_set_named_property(env, target, name, value);
}

}  // namespace skein

NAPI_MODULE_INIT() {
  using namespace skein;
  open_environment(env);
  napi_value sync = nullptr;
  napi_value async = nullptr;
  napi_value codes = nullptr;
  napi_create_object(env, &sync);
  napi_create_object(env, &async);
  napi_create_object(env, &codes);
  register_kernels<false>(env, sync);
  register_kernels<true>(env, async);
  napi_set_named_property(env, codes, "unary", string_array(env, kUnaryOpNames));
  napi_set_named_property(env, codes, "binary", string_array(env, kBinaryOpNames));
  napi_set_named_property(env, codes, "compare", string_array(env, kCompareOpNames));
  napi_set_named_property(env, codes, "reduce", string_array(env, kReduceOpNames));
  napi_set_named_property(env, codes, "score", string_array(env, kScoreOpNames));
  napi_set_named_property(env, codes, "relation", string_array(env, kRelationOpNames));
  napi_set_named_property(env, codes, "storage", string_array(env, kStorageTypeNames));
  napi_set_named_property(env, exports, "kernels", sync);
  napi_set_named_property(env, exports, "asyncKernels", async);
  napi_set_named_property(env, exports, "codes", codes);
  set_string(env, exports, "level", SKEIN_LEVEL);
  set_function(env, exports, "setThreads", set_threads_js);
  set_function(env, exports, "prepareBlock", prepare_block_js);
  set_function(env, exports, "releaseBlock", release_block_js);
  set_function(env, exports, "lockFile", lock_file_js);
  return exports;
}
