// Asynchronous calls in the pool.
#pragma once

#include <node_api.h>

#include <memory>
#include <string>

#include "call.h"

namespace skein {

struct Environment;

struct Job {
  napi_deferred deferred = nullptr;
  napi_ref values = nullptr;
  Environment* environment = nullptr;
  const KernelRow* kernel = nullptr;
  Run run = nullptr;
  Arguments arguments;
  Copies copies;
  double result = 0;
  std::string error;
};

// Must run once when the addon is initialised in an environment.
void open_environment(napi_env env);

// Runs a call that has been read on the pool, and returns its promise.
napi_value start_job(Call& call, std::unique_ptr<Job> job);

}  // namespace skein
