// One call of a kernel from JavaScript: its arguments read and checked by its rule (rules.h).
//
// Lifetimes and threads: a synchronous call reads the arrays' addresses, runs, returns; V8 cannot move or free a backing store
// meanwhile. An asynchronous call also takes a reference to its arguments, runs on the pool with plain pointers only, and
// returns the result through a thread-safe function (jobs.cpp). JavaScript continues meanwhile: integer arrays that a kernel
// follows are therefore copied, and src/native/async-memory.ts keeps the memory of the others from being detached.
#pragma once

#include <node_api.h>

#include <memory>
#include <string>
#include <vector>

#include "rules.h"

namespace skein {

struct Kernel {
  const KernelRow* row;
  Rule rule;
};

// All kernels. Throws std::logic_error when a rule of kernels.def is wrong.
const std::vector<Kernel>& all_kernels();

// Copies of input arrays, which live as long as an asynchronous call.
using Copies = std::vector<std::unique_ptr<u8[]>>;

class Call {
 public:
  Call(napi_env env, napi_callback_info info);

  // Returns false with an exception pending if an argument is wrong. Without `copies` the arrays are used in place.
  bool read(Copies* copies);

  napi_env env;
  const Kernel* kernel = nullptr;
  size_t count = kMaxArguments;
  napi_value values[kMaxArguments];
  Arguments arguments;
  Run run = nullptr;

 private:
  bool read_array(size_t at, Kind kind);
  bool read_number(size_t at, Kind kind);
  bool check(const Check& check, Facts& facts, Copies* copies);
  bool check_integer(const Check& check, const Facts& facts);
  bool check_ids(const Check& check, const Facts& facts, i64 need);
  bool check_boundaries(const Check& check, Facts& facts, i64 need);
  bool check_walk(const Check& check, Facts& facts);
  bool fail(size_t at, const std::string& expected, const std::string& got, const char* advice = "");
  bool wrong_kind(size_t at, const char* expected);
};

napi_value call_now(napi_env env, napi_callback_info info);
napi_value call_later(napi_env env, napi_callback_info info);

void throw_failure(napi_env env, const char* kernel, const char* what);

}  // namespace skein
