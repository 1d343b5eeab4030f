// The thread budget and the pool behind parallel_for.
//
// The calling thread always works itself; the pool adds helpers. A job is published by raising `epoch`; helpers that spin
// see it within a fraction of a microsecond, parked ones are woken. A helper must enter the job (Job::gate) before it
// touches anything of it. When the caller finds no chunk left it closes the gate and waits only for helpers that are
// inside: a helper that the system has not scheduled yet, because another process has its core, delays nobody.
//
// Each thread owns a contiguous run of chunks, the same in every call of the same size, and takes it from the front. A
// thread without work takes single chunks from the back of the other runs. Which thread runs a chunk never changes a
// result (common.h), so this costs no determinism.
//
// There is one job at a time. A second JavaScript thread that computes meanwhile runs its chunks by itself, as do
// calls from inside a chunk. After a fork the child starts with an empty pool. Helpers are joined when the process exits.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "common.h"

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace skein {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxThreads = 1024;
// How long a helper without work spins before it parks. Kernels of a training step follow one another within this time;
// waking a parked helper takes about as long.
constexpr auto kSpin = std::chrono::microseconds(60);
// A reading of the clock that comes this much after the last one shows that the thread was not running: somebody else wants
// the core, and spinning would take it from work.
constexpr auto kPreempted = std::chrono::microseconds(400);
constexpr u32 kClosed = u32{1} << 31;

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until `done` or until it is not worth it any more. Returns whether `done` held; `patience` is cut to a quarter when
// the thread was preempted meanwhile, and grows back slowly.
template <class Done>
bool spin_until(Done&& done, Clock::duration& patience) {
  if (done()) return true;
  const auto start = Clock::now();
  auto last = start;
  while (last - start < patience) {
    for (int i = 0; i < 16; ++i) {
      if (done()) {
        if (patience < kSpin) patience += kSpin / 32;
        return true;
      }
      relax();
    }
    const auto now = Clock::now();
    if (now - last > kPreempted) {
      patience /= 4;
      return done();
    }
    last = now;
  }
  return done();
}

// The chunks [begin, end) that are left of a thread's own run, in one word, so that both ends change atomically.
struct alignas(64) Run {
  std::atomic<u64> word{0};

  void set(u64 begin, u64 end) { word.store(begin << 32 | end, std::memory_order_relaxed); }

  bool take_front(i64& chunk) {
    u64 seen = word.load(std::memory_order_relaxed);
    while (seen >> 32 < (seen & 0xffffffffu)) {
      if (word.compare_exchange_weak(seen, seen + (u64{1} << 32), std::memory_order_relaxed)) {
        chunk = static_cast<i64>(seen >> 32);
        return true;
      }
    }
    return false;
  }

  bool take_back(i64& chunk) {
    u64 seen = word.load(std::memory_order_relaxed);
    while (seen >> 32 < (seen & 0xffffffffu)) {
      if (word.compare_exchange_weak(seen, seen - 1, std::memory_order_relaxed)) {
        chunk = static_cast<i64>((seen & 0xffffffffu) - 1);
        return true;
      }
    }
    return false;
  }
};

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

// Set on helpers, on threads of the asynchronous pool and while a thread runs chunks: its own kernels then run inline.
thread_local bool alone = false;

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

  bool enter(int index) {
    u32 inside = job_.gate.load(std::memory_order_relaxed);
    while ((inside & kClosed) == 0) {
      if (!job_.gate.compare_exchange_weak(inside, inside + 1, std::memory_order_acq_rel)) continue;
      if (index < job_.team) return true;
      leave();
      return false;
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
    alone = true;
    name_thread(index);
    Clock::duration patience = kSpin;
    for (;;) {
      const auto published = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
      if (!spin_until(published, patience)) park(self, seen);
      if (stopping_.load(std::memory_order_acquire)) return;
      seen = epoch_.load(std::memory_order_acquire);
      if (!enter(index)) continue;
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

std::atomic<int> budget{1};
// Never freed: static objects may be torn down while another thread still looks at it.
std::atomic<Pool*> pool{nullptr};

#if !defined(_WIN32)
void forget_pool() { pool.store(new Pool, std::memory_order_release); }
#endif

Pool& the_pool() {
  Pool* found = pool.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  static std::once_flag once;
  std::call_once(once, [] {
    pool.store(new Pool, std::memory_order_release);
#if !defined(_WIN32)
    pthread_atfork(nullptr, nullptr, forget_pool);
    // On Windows threads have ended before handlers run, and joining them would wait for ever.
    std::atexit([] { pool.load(std::memory_order_acquire)->stop(); });
#endif
  });
  return *pool.load(std::memory_order_acquire);
}

void run_inline(i64 chunks, ChunkBody body, void* context) {
  for (i64 c = 0; c < chunks; ++c) body(context, c);
}

// The calling thread's kernels run inline while it works on chunks, and the pool is free again however the job ends.
class Section {
 public:
  explicit Section(Pool& owner) : owner_(owner) { alone = true; }
  ~Section() {
    alone = false;
    owner_.release();
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  Pool& owner_;
};

}  // namespace

int threads() { return alone ? 1 : budget.load(std::memory_order_relaxed); }
void set_threads(int count) { budget.store(count, std::memory_order_relaxed); }
void limit_to_one_thread() { alone = true; }

void run_chunks(int team, i64 chunks, Share share, ChunkBody body, void* context) {
  // A run's ends share one word, so its chunks are counted in 32 bits.
  Pool& owner = the_pool();
  if (alone || chunks > i64{0x7fffffff} || !owner.acquire()) return run_inline(chunks, body, context);
  Section section(owner);
  owner.run(team, chunks, share, body, context);
}

}  // namespace skein
