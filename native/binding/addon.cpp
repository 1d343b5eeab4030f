// The addon's entry: registers every kernel of kernels.def twice (synchronous, and asynchronous under `async`), the
// thread settings, and what the loader needs to choose and check an addon.
#include <exception>

#include "call.h"
#include "jobs.h"
#include "support/op_codes.h"
#include "system.h"

#ifndef SKEIN_LEVEL
#define SKEIN_LEVEL "portable"
#endif

namespace skein {

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

static void register_kernels(napi_env env, napi_value target, napi_callback call) {
  for (const Kernel& kernel : all_kernels()) {
    napi_value fn = nullptr;
    void* data = const_cast<Kernel*>(&kernel);
    napi_create_function(env, kernel.row->name, NAPI_AUTO_LENGTH, call, data, &fn);
    napi_set_named_property(env, target, kernel.row->name, fn);
  }
}

// For each kernel, the positions of the arrays whose own memory an asynchronous call uses until it ends.
static napi_value held_arguments(napi_env env) {
  napi_value all = nullptr;
  napi_create_object(env, &all);
  for (const Kernel& kernel : all_kernels()) {
    napi_value list = nullptr;
    u32 length = 0;
    napi_create_array(env, &list);
    for (const Check& check : kernel.rule.checks) {
      if (check.copied || !is_array(kernel.row->parameters[check.at].kind)) continue;
      napi_value position = nullptr;
      napi_create_uint32(env, check.at, &position);
      napi_set_element(env, list, length++, position);
    }
    napi_set_named_property(env, all, kernel.row->name, list);
  }
  return all;
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
  try {
    register_kernels(env, sync, call_now);
    register_kernels(env, async, call_later);
  } catch (const std::exception& error) {
    napi_throw_error(env, "SKEIN_INTERNAL", error.what());
    return nullptr;
  }
  napi_set_named_property(env, codes, "unary", string_array(env, kUnaryOpNames));
  napi_set_named_property(env, codes, "binary", string_array(env, kBinaryOpNames));
  napi_set_named_property(env, codes, "compare", string_array(env, kCompareOpNames));
  napi_set_named_property(env, codes, "reduce", string_array(env, kReduceOpNames));
  napi_set_named_property(env, codes, "score", string_array(env, kScoreOpNames));
  napi_set_named_property(env, codes, "relation", string_array(env, kRelationOpNames));
  napi_set_named_property(env, codes, "query", string_array(env, kQueryKindNames));
  napi_set_named_property(env, codes, "storage", string_array(env, kStorageTypeNames));
  napi_set_named_property(env, exports, "kernels", sync);
  napi_set_named_property(env, exports, "asyncKernels", async);
  napi_set_named_property(env, exports, "heldArguments", held_arguments(env));
  napi_set_named_property(env, exports, "codes", codes);
  set_string(env, exports, "level", SKEIN_LEVEL);
  set_function(env, exports, "setThreads", set_threads_js);
  set_function(env, exports, "getThreads", get_threads_js);
  set_function(env, exports, "prepareBlock", prepare_block_js);
  set_function(env, exports, "releaseBlock", release_block_js);
  set_function(env, exports, "lockFile", lock_file_js);
  return exports;
}
