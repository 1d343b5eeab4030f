// Derives the JavaScript face of a kernel from its C++ signature: pointers become typed arrays (null allowed), Offsets an
// Int32Array or Float64Array, i64 and double numbers, bool a boolean. A kernel needs one line in kernels.def and nothing else.
//
// Lifetimes and threads: a synchronous call reads the arrays' addresses, runs, returns; V8 cannot move or free a
// backing store meanwhile. An asynchronous call also takes a reference to its arguments, runs on the pool with plain
// pointers only, and hands the result back through a thread-safe function; the reference is dropped and the promise
// settled on the JavaScript thread. No N-API call is ever made on a pool thread except that hand-over (jobs.cpp).
#pragma once

#include <node_api.h>

#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "async_pool.h"
#include "common.h"
#include "offsets.h"

namespace skein {

constexpr size_t kMaxArguments = 32;

struct Call {
  napi_env env;
  const char* name;
  size_t count = kMaxArguments;
  napi_value values[kMaxArguments];
  bool failed = false;

  Call(napi_env e, napi_callback_info info, const char* kernel) : env(e), name(kernel) {
    napi_get_cb_info(env, info, &count, values, nullptr, nullptr);
  }

  void fail(size_t index, const char* expected) {
    if (failed) return;
    failed = true;
    const std::string text = std::string("internal: kernel ") + name + ": expected " + expected + " for argument " +
                             std::to_string(index + 1) + ". Please report this.";
    napi_throw_type_error(env, "SKEIN_INTERNAL", text.c_str());
  }
};

template <class E> struct ElementType;
template <> struct ElementType<float> { static constexpr napi_typedarray_type value = napi_float32_array; static constexpr const char* name = "Float32Array"; };
template <> struct ElementType<double> { static constexpr napi_typedarray_type value = napi_float64_array; static constexpr const char* name = "Float64Array"; };
template <> struct ElementType<i32> { static constexpr napi_typedarray_type value = napi_int32_array; static constexpr const char* name = "Int32Array"; };
template <> struct ElementType<u8> { static constexpr napi_typedarray_type value = napi_uint8_array; static constexpr const char* name = "Uint8Array"; };
template <> struct ElementType<u16> { static constexpr napi_typedarray_type value = napi_uint16_array; static constexpr const char* name = "Uint16Array"; };
template <> struct ElementType<u32> { static constexpr napi_typedarray_type value = napi_uint32_array; static constexpr const char* name = "Uint32Array"; };

template <class P>
P read_argument(Call& call, size_t index) {
  napi_value value = call.values[index];
  if constexpr (std::is_pointer_v<P>) {
    using Element = std::remove_cv_t<std::remove_pointer_t<P>>;
    napi_typedarray_type type;
    void* data = nullptr;
    size_t length = 0;
    if (napi_get_typedarray_info(call.env, value, &type, &length, &data, nullptr, nullptr) != napi_ok) {
      napi_valuetype kind = napi_undefined;
      napi_typeof(call.env, value, &kind);
      if (kind != napi_null) call.fail(index, "a typed array or null");
      return nullptr;
    }
    if constexpr (!std::is_void_v<Element>) {
      if (type != ElementType<Element>::value) call.fail(index, ElementType<Element>::name);
    }
    return static_cast<P>(data);
  } else if constexpr (std::is_same_v<P, Offsets>) {
    napi_typedarray_type type;
    void* data = nullptr;
    const bool read = napi_get_typedarray_info(call.env, value, &type, nullptr, &data, nullptr, nullptr) == napi_ok;
    if (!read || (type != napi_int32_array && type != napi_float64_array)) {
      call.fail(index, "Int32Array or Float64Array");
      return {};
    }
    return {data, type == napi_float64_array};
  } else if constexpr (std::is_same_v<P, bool>) {
    bool flag = false;
    if (napi_get_value_bool(call.env, value, &flag) != napi_ok) call.fail(index, "a boolean");
    return flag;
  } else if constexpr (std::is_same_v<P, double>) {
    double number = 0;
    if (napi_get_value_double(call.env, value, &number) != napi_ok) call.fail(index, "a number");
    return number;
  } else {
    static_assert(std::is_same_v<P, i64>, "kernel parameters are pointers, Offsets, i64, double or bool");
    i64 number = 0;
    if (napi_get_value_int64(call.env, value, &number) != napi_ok) call.fail(index, "an integer");
    return number;
  }
}

template <class R>
napi_value to_js(napi_env env, R result) {
  napi_value value = nullptr;
  napi_create_double(env, static_cast<double>(result), &value);
  return value;
}

void throw_failure(napi_env env, const char* kernel, const char* what);

struct Environment;

// One asynchronous call on its way through the pool.
struct Job {
  napi_deferred deferred = nullptr;
  napi_ref arguments = nullptr;
  Environment* environment = nullptr;
  const char* name = "";
  double result = 0;
  bool has_result = false;
  std::string error;
};

// Defined in jobs.cpp. `open_environment` must run once when the addon is initialised in an environment.
void open_environment(napi_env env);
napi_value start_job(Call& call, std::unique_ptr<Job> job, std::function<void(Job&)> run);

template <class R, class... P, size_t... I>
napi_value invoke(Call& call, bool async, R (*kernel)(P...), std::index_sequence<I...>) {
  static_assert(sizeof...(P) <= kMaxArguments, "raise kMaxArguments");
  if (call.count != sizeof...(P)) {
    call.fail(call.count, (std::to_string(sizeof...(P)) + " arguments, not " + std::to_string(call.count) + ",").c_str());
    return nullptr;
  }
  // Braces fix the evaluation order, so the first bad argument is the one reported.
  std::tuple<P...> arguments{read_argument<P>(call, I)...};
  if (call.failed) return nullptr;
  if (async) {
    auto job = std::make_unique<Job>();
    job->name = call.name;
    return start_job(call, std::move(job), [kernel, arguments](Job& running) {
      if constexpr (std::is_void_v<R>) {
        std::apply(kernel, arguments);
      } else {
        running.result = static_cast<double>(std::apply(kernel, arguments));
        running.has_result = true;
      }
    });
  }
  try {
    if constexpr (std::is_void_v<R>) {
      std::apply(kernel, arguments);
      return nullptr;
    } else {
      return to_js(call.env, std::apply(kernel, arguments));
    }
  } catch (const std::exception& error) {
    throw_failure(call.env, call.name, error.what());
    return nullptr;
  }
}

template <class R, class... P>
napi_value invoke(Call& call, bool async, R (*kernel)(P...)) {
  return invoke(call, async, kernel, std::index_sequence_for<P...>{});
}

// The first float array among the arguments decides between the f32 and the f64 instance.
inline bool is_double_call(Call& call) {
  for (size_t i = 0; i < call.count; ++i) {
    napi_typedarray_type type;
    if (napi_get_typedarray_info(call.env, call.values[i], &type, nullptr, nullptr, nullptr, nullptr) != napi_ok) continue;
    if (type == napi_float64_array) return true;
    if (type == napi_float32_array) return false;
  }
  return false;
}

}  // namespace skein
