// The thread budget: one number for the process, overridden to 1 on threads of the asynchronous pool.
#include <atomic>

#include "common.h"

namespace skein {

static std::atomic<int> budget{1};
static thread_local bool pool_worker = false;

int threads() { return pool_worker ? 1 : budget.load(std::memory_order_relaxed); }
void set_threads(int count) { budget.store(count, std::memory_order_relaxed); }
void limit_to_one_thread() { pool_worker = true; }

}  // namespace skein
