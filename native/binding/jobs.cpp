// Asynchronous calls: from JavaScript to the pool and back.
//
// Each environment (the main thread, each worker) has one thread-safe function through which its finished jobs return,
// and counts its jobs in the pool. While any is in flight the event loop stays alive. When an environment goes down it
// first waits for its own jobs, because they still read arrays that die with it. The library itself is never unloaded:
// the pool's threads outlive every environment.
#include "jobs.h"

#include <condition_variable>
#include <exception>
#include <mutex>

#include "../platform/platform.h"
#include "async_pool.h"

namespace skein {

struct Environment {
  napi_env env = nullptr;
  napi_threadsafe_function done = nullptr;
  i64 waiting = 0;  // promises not settled yet; JavaScript thread only
  std::mutex mutex;
  std::condition_variable idle;
  i64 running = 0;  // jobs that the pool has not finished with
};

// Runs on the JavaScript thread when a job has ended: settles the promise and lets the arguments go.
static void settle(napi_env env, napi_value, void*, void* data) {
  std::unique_ptr<Job> job(static_cast<Job*>(data));
  if (env == nullptr) return;  // the environment is going down, and with it promise and arguments
  napi_value value = nullptr;
  if (!job->error.empty()) {
    napi_value message = nullptr;
    napi_value code = nullptr;
    const std::string text = std::string("kernel ") + job->kernel->name + " failed: " + job->error;
    napi_create_string_utf8(env, text.c_str(), text.size(), &message);
    napi_create_string_utf8(env, "SKEIN_KERNEL", NAPI_AUTO_LENGTH, &code);
    napi_create_error(env, code, message, &value);
    napi_reject_deferred(env, job->deferred, value);
  } else {
    if (job->kernel->has_result) napi_create_double(env, job->result, &value);
    else napi_get_undefined(env, &value);
    napi_resolve_deferred(env, job->deferred, value);
  }
  napi_delete_reference(env, job->values);
  Environment& home = *job->environment;
  if (--home.waiting == 0) napi_unref_threadsafe_function(env, home.done);
}

static void wait_for_jobs(void* data) {
  Environment& home = *static_cast<Environment*>(data);
  std::unique_lock<std::mutex> lock(home.mutex);
  home.idle.wait(lock, [&] { return home.running == 0; });
}

void open_environment(napi_env env) {
  platform::pin_library();
  auto* home = new Environment;
  home->env = env;
  napi_value label = nullptr;
  napi_create_string_utf8(env, "skein", NAPI_AUTO_LENGTH, &label);
  napi_create_threadsafe_function(env, nullptr, nullptr, label, 0, 1, nullptr, nullptr, nullptr, settle, &home->done);
  napi_unref_threadsafe_function(env, home->done);
  napi_set_instance_data(env, home, [](napi_env, void* data, void*) { delete static_cast<Environment*>(data); }, nullptr);
  // Hooks run in reverse order: this one before the thread-safe function's own.
  napi_add_env_cleanup_hook(env, wait_for_jobs, home);
}

napi_value start_job(Call& call, std::unique_ptr<Job> job) {
  napi_env env = call.env;
  Environment* home = nullptr;
  napi_get_instance_data(env, reinterpret_cast<void**>(&home));
  napi_value promise = nullptr;
  napi_value kept = nullptr;
  napi_create_promise(env, &job->deferred, &promise);
  napi_create_array_with_length(env, call.count, &kept);
  for (size_t i = 0; i < call.count; ++i) napi_set_element(env, kept, static_cast<u32>(i), call.values[i]);
  napi_create_reference(env, kept, 1, &job->values);
  job->environment = home;
  job->kernel = call.kernel->row;
  job->run = call.run;
  job->arguments = call.arguments;
  if (home->waiting++ == 0) napi_ref_threadsafe_function(env, home->done);
  {
    std::lock_guard<std::mutex> lock(home->mutex);
    ++home->running;
  }
  Job* running = job.release();
  const auto work = [running, home] {
    try {
      running->result = running->run(running->arguments);
    } catch (const std::exception& error) {
      running->error = error.what();
    }
    if (napi_call_threadsafe_function(home->done, running, napi_tsfn_blocking) != napi_ok) delete running;
    std::lock_guard<std::mutex> lock(home->mutex);
    if (--home->running == 0) home->idle.notify_all();
  };
  try {
    pool_submit(work);
  } catch (const std::exception& error) {
    {
      std::lock_guard<std::mutex> lock(home->mutex);
      --home->running;
    }
    running->error = std::string("it could not be started: ") + error.what();
    settle(env, nullptr, nullptr, running);
  }
  return promise;
}

}  // namespace skein
