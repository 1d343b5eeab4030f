// A tiny addon that reports which instruction sets this processor and its operating system can run. It is compiled for the
// oldest processor of the architecture and loads before any other addon, so that none is opened whose very first
// instruction could end the process. No C++ library: it must load wherever Node.js runs.
#include <node_api.h>

static const char* best_level() {
#if defined(__x86_64__) || defined(_M_X64)
  // These check the processor, and whether the operating system saves the wide registers.
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? "avx512" : avx2 ? "avx2" : "portable";
#elif defined(__aarch64__)
  return "neon";  // part of every 64-bit ARM processor
#else
  return "portable";
#endif
}

NAPI_MODULE_INIT() {
  napi_value level = nullptr;
  napi_create_string_utf8(env, best_level(), NAPI_AUTO_LENGTH, &level);
  napi_set_named_property(env, exports, "bestLevel", level);
  return exports;
}
