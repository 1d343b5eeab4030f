// The pool of threads behind parallel_for.
//
// The calling thread always works itself; the pool adds helpers. A job is published by raising `epoch`; helpers that spin
// see it within a fraction of a microsecond, parked ones are woken. A helper must enter the job (Job::gate) before it
// touches anything of it. When the caller finds no chunk left it closes the gate and waits only for helpers that are
// inside: a helper that the system has not scheduled yet, because another process has its core, causes no delay.
//
// Each thread owns a contiguous run of chunks, the same in every call of the same size, and takes it from the front. A
// thread without work takes single chunks from the back of the other runs. Which thread runs a chunk never changes a
// result (common.h), so this costs no determinism.
//
// There is one job at a time. A second JavaScript thread that computes meanwhile runs its chunks by itself, as do
// calls from inside a chunk. After a fork the child starts with an empty pool. Helpers are joined when the process exits.
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "support/thread_spin.h"

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace skein {
namespace pool_detail {

constexpr int kMaxThreads = 1024;
constexpr u32 kClosed = u32{1} << 31;

struct Job {
  ChunkBody body = nullptr;
  void* context = nullptr;
  Share share = Share::kept;
  int team = 0;
  i64 chunks = 0;
  // kClosed, or the number of helpers inside.
  std::atomic<u32> gate{kClosed};
  alignas(64) std::atomic<i64> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error;
};

struct Helper {
  std::thread thread;
  std::mutex mutex;
  std::condition_variable wake;
  bool parked = false;  // under mutex
};

class Pool {
 public:
  void run(int team, i64 chunks, Share share, ChunkBody body, void* context) {
    grow(team - 1);
    const int helpers = team - 1 < size_ ? team - 1 : size_;
    job_.body = body;
    job_.context = context;
    job_.share = share;
    job_.team = helpers + 1;
    job_.chunks = chunks;
    job_.next.store(0, std::memory_order_relaxed);
    job_.failed.store(false, std::memory_order_relaxed);
    job_.error = nullptr;
    if (share == Share::kept) cut_runs();
    job_.gate.store(0, std::memory_order_release);
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    wake_parked(helpers);
    work(0);
    close_and_wait();
    if (job_.error != nullptr) std::rethrow_exception(job_.error);
  }

  bool acquire() { return !busy_.exchange(true, std::memory_order_acquire); }
  void release() { busy_.store(false, std::memory_order_release); }

  void stop() {
    if (!acquire()) return;  // a kernel is running: the system ends its threads
    stopping_.store(true, std::memory_order_release);
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    wake_parked(size_);
    for (auto& helper : helpers_) helper->thread.join();
    helpers_.clear();
    size_ = 0;
  }

 private:
  void grow(int wanted) {
    while (size_ < wanted && size_ + 1 < kMaxThreads) {
      auto helper = std::make_unique<Helper>();
      const int index = size_ + 1;
      if (runs_.size() <= static_cast<size_t>(index)) runs_ = std::vector<Run>(static_cast<size_t>(wanted) + 1);
      Helper* self = helper.get();
      try {
        helper->thread = std::thread([this, self, index, seen = epoch_.load(std::memory_order_relaxed)] {
          serve(*self, index, seen);
        });
      } catch (const std::exception&) {
        return;  // the system has no more threads: fewer helpers do the same work
      }
      helpers_.push_back(std::move(helper));
      ++size_;
    }
  }

  void cut_runs() {
    const i64 share = job_.chunks / job_.team;
    const i64 more = job_.chunks % job_.team;
    i64 begin = 0;
    for (int t = 0; t < job_.team; ++t) {
      const i64 end = begin + share + (t < more ? 1 : 0);
      runs_[static_cast<size_t>(t)].set(static_cast<u64>(begin), static_cast<u64>(end));
      begin = end;
    }
  }

  void wake_parked(int helpers) {
    // Pairs with serve(): there `parking_` rises before `epoch` is read, here `epoch` rose before `parking_` is read.
    if (parking_.load(std::memory_order_seq_cst) == 0) return;
    for (int i = 0; i < helpers; ++i) {
      Helper& helper = *helpers_[static_cast<size_t>(i)];
      bool asleep = false;
      {
        std::lock_guard<std::mutex> lock(helper.mutex);
        asleep = helper.parked;
        helper.parked = false;
      }
      if (asleep) helper.wake.notify_one();
    }
  }

  void close_and_wait() {
    if (job_.gate.fetch_or(kClosed, std::memory_order_acq_rel) == 0) return;
    const auto empty = [&] { return job_.gate.load(std::memory_order_acquire) == kClosed; };
    if (spin_until(empty, patience_)) return;
    std::unique_lock<std::mutex> lock(last_mutex_);
    last_out_.wait(lock, empty);
  }

  // Whether the helper is inside the job. `needed` becomes false for one beyond the job's team.
  bool enter(int index, bool& needed) {
    u32 inside = job_.gate.load(std::memory_order_relaxed);
    while ((inside & kClosed) == 0) {
      if (!job_.gate.compare_exchange_weak(inside, inside + 1, std::memory_order_acq_rel)) continue;
      needed = index < job_.team;
      if (!needed) leave();
      return needed;
    }
    return false;
  }

  void leave() {
    if (job_.gate.fetch_sub(1, std::memory_order_acq_rel) - 1 != kClosed) return;
    std::lock_guard<std::mutex> lock(last_mutex_);
    last_out_.notify_one();
  }

  bool take(int index, i64& chunk) {
    if (job_.share == Share::asked) {
      chunk = job_.next.fetch_add(1, std::memory_order_relaxed);
      return chunk < job_.chunks;
    }
    if (runs_[static_cast<size_t>(index)].take_front(chunk)) return true;
    for (int other = 1; other < job_.team; ++other) {
      const int victim = (index + other) % job_.team;
      if (runs_[static_cast<size_t>(victim)].take_back(chunk)) return true;
    }
    return false;
  }

  void work(int index) {
    i64 chunk = 0;
    while (take(index, chunk)) {
      if (job_.failed.load(std::memory_order_relaxed)) continue;
      try {
        job_.body(job_.context, chunk);
      } catch (...) {
        if (!job_.failed.exchange(true, std::memory_order_acq_rel)) job_.error = std::current_exception();
      }
    }
  }

  void serve(Helper& self, int index, u64 seen) {
    limit_to_one_thread();
    name_thread(index);
    Clock::duration patience = kSpin, none{0};
    // After a smaller budget was set, helpers beyond it park immediately until a job is large enough to wake them.
    bool needed = true;
    for (;;) {
      const auto published = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
      if (!spin_until(published, needed ? patience : none)) park(self, seen);
      if (stopping_.load(std::memory_order_acquire)) return;
      seen = epoch_.load(std::memory_order_acquire);
      if (!enter(index, needed)) continue;
      work(index);
      leave();
    }
  }

  void park(Helper& self, u64 seen) {
    std::unique_lock<std::mutex> lock(self.mutex);
    self.parked = true;
    parking_.fetch_add(1, std::memory_order_seq_cst);
    if (epoch_.load(std::memory_order_seq_cst) == seen) self.wake.wait(lock, [&] { return !self.parked; });
    self.parked = false;
    parking_.fetch_sub(1, std::memory_order_relaxed);
  }

  static void name_thread(int index) {
#if defined(__linux__)
    char name[16] = "skein-";
    int length = 6;
    if (index >= 1000) name[length++] = static_cast<char>('0' + index / 1000 % 10);
    if (index >= 100) name[length++] = static_cast<char>('0' + index / 100 % 10);
    if (index >= 10) name[length++] = static_cast<char>('0' + index / 10 % 10);
    name[length++] = static_cast<char>('0' + index % 10);
    pthread_setname_np(pthread_self(), name);
#else
    (void)index;
#endif
  }

  alignas(64) std::atomic<u64> epoch_{0};
  alignas(64) std::atomic<bool> busy_{false};
  std::atomic<int> parking_{0};
  std::atomic<bool> stopping_{false};
  Job job_;
  std::vector<Run> runs_ = std::vector<Run>(1);
  std::vector<std::unique_ptr<Helper>> helpers_;
  int size_ = 0;
  std::mutex last_mutex_;
  std::condition_variable last_out_;
  Clock::duration patience_ = kSpin;
};

}  // namespace pool_detail
}  // namespace skein
