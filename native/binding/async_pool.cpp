#include "async_pool.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "../platform/platform.h"
#include "support/common.h"

namespace skein {

namespace {

struct Pool {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> tasks;
  int size = 2;
  int started = 0;
};

// Never destroyed: a task may still run while the process tears down its static objects.
Pool& pool() {
  static Pool* instance = new Pool;
  return *instance;
}

void work() {
  limit_to_one_thread();
  // Prefetching yields to computing: a kernel whose threads share a core with a loader would wait for the slower one.
  platform::lower_thread_priority();
  Pool& p = pool();
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock<std::mutex> lock(p.mutex);
      p.wake.wait(lock, [&] { return !p.tasks.empty(); });
      task = std::move(p.tasks.front());
      p.tasks.pop_front();
    }
    task();
  }
}

}  // namespace

void pool_submit(std::function<void()> task) {
  Pool& p = pool();
  std::lock_guard<std::mutex> lock(p.mutex);
  if (p.started < p.size) {
    try {
      std::thread(work).detach();
      ++p.started;
    } catch (const std::system_error&) {  // the system has no more threads: those that there are do the work
      if (p.started == 0) throw;
    }
  }
  p.tasks.push_back(std::move(task));
  p.wake.notify_one();
}

void pool_set_size(int threads) {
  std::lock_guard<std::mutex> lock(pool().mutex);
  if (threads > pool().size) pool().size = threads;
}

}  // namespace skein
