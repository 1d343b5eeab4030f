// Threads that run kernels asynchronously, so that loading a batch overlaps computing on another.
//
// libuv's own four threads stay free for file reads. A kernel on a pool thread uses that thread alone (see
// limit_to_one_thread), so the pool's size bounds the extra load. The pool is one for the process; it starts with the
// first task and lives until the process ends (its threads are detached from any JavaScript environment).
#pragma once

#include <functional>

namespace skein {

void pool_submit(std::function<void()> task);
void pool_set_size(int threads);

}  // namespace skein
