// readRows: many small reads in parallel. A disk gives its rate only to a queue of requests (here: 19,000 reads a second one after
// the other, 146,000 with 32 in flight), so separate threads wait for them: they cost no processor time while they wait.
#include "rows/rows_read.h"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "../platform/platform.h"

namespace skein {
namespace {

constexpr int kReaders = 32;
constexpr i64 kPage = 4096;
constexpr i64 kRunBytes = 1 << 20;

// Memory that starts at a page and grows.
class PageBuffer {
 public:
  PageBuffer() = default;
  PageBuffer(const PageBuffer&) = delete;
  PageBuffer& operator=(const PageBuffer&) = delete;
  ~PageBuffer() { platform::free_aligned(data_); }

  u8* at_least(i64 bytes) {
    if (bytes <= bytes_) return data_;
    platform::free_aligned(data_);
    bytes_ = 0;
    data_ = static_cast<u8*>(platform::allocate_aligned(kPage, static_cast<size_t>(bytes)));
    if (data_ == nullptr) throw std::runtime_error("no memory for a read");
    bytes_ = bytes;
    return data_;
  }

 private:
  u8* data_ = nullptr;
  i64 bytes_ = 0;
};

// One call: runs of neighbouring rows, taken one by one by any free thread.
struct Task {
  i64 file;
  const i32* ids;
  const i32* out_rows;
  u8* out;
  i64 n;
  i64 row_bytes;
  std::vector<i64> starts;  // of runs, and the end
  std::atomic<i64> next{0};
  std::mutex mutex;
  std::condition_variable idle;
  i64 working = 0;
  std::string error;

  i64 runs() const { return static_cast<i64>(starts.size()) - 1; }

  void cut(i64 gap_bytes) {
    for (i64 i = 0; i < n; ++i) {
      if (i > 0 && ids[i] < ids[i - 1]) throw std::invalid_argument("the ids of rows to read fall");
      const i64 from = starts.empty() ? 0 : ids[starts.back()];
      const bool near = i > 0 && (static_cast<i64>(ids[i]) - ids[i - 1] - 1) * row_bytes <= gap_bytes;
      if (!near || (ids[i] - from + 1) * row_bytes > kRunBytes) starts.push_back(i);
    }
    starts.push_back(n);
  }

  void read_run(i64 run, PageBuffer& buffer) {
    const i64 begin = starts[static_cast<size_t>(run)];
    const i64 end = starts[static_cast<size_t>(run) + 1];
    const i64 from = ids[begin] * row_bytes / kPage * kPage;
    const i64 need = (static_cast<i64>(ids[end - 1]) + 1) * row_bytes - from;
    const i64 bytes = (need + kPage - 1) / kPage * kPage;
    u8* data = buffer.at_least(bytes);
    for (i64 done = 0; done < need;) {
      const i64 got = platform::read_at(file, data + done, bytes - done, from + done);
      if (got == 0) throw std::runtime_error("the file ends before row " + std::to_string(ids[end - 1]));
      done += got;
    }
    for (i64 i = begin; i < end; ++i)
      std::memcpy(out + out_rows[i] * row_bytes, data + (ids[i] * row_bytes - from), static_cast<size_t>(row_bytes));
  }

  // Reads runs until there are none left.
  void help(PageBuffer& buffer) {
    for (i64 run = next++; run < runs(); run = next++) {
      try {
        read_run(run, buffer);
      } catch (const std::exception& failure) {
        std::lock_guard<std::mutex> lock(mutex);
        if (error.empty()) error = failure.what();
        next = runs();
      }
    }
  }
};

struct Readers {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::shared_ptr<Task>> tasks;
  int started = 0;
};

// Never destroyed: its threads may outlive the static objects of the process.
Readers& readers() {
  static Readers* instance = new Readers;
  return *instance;
}

void read_forever() {
  Readers& r = readers();
  PageBuffer buffer;
  for (;;) {
    std::shared_ptr<Task> task;
    {
      std::unique_lock<std::mutex> lock(r.mutex);
      r.wake.wait(lock, [&] { return !r.tasks.empty(); });
      task = std::move(r.tasks.front());
      r.tasks.pop_front();
    }
    task->help(buffer);
    std::lock_guard<std::mutex> lock(task->mutex);
    if (--task->working == 0) task->idle.notify_all();
  }
}

// Wakes `count` readers for a task, one entry in the list each. Threads are started first: where the system has no
// more of them, fewer readers take the entries, or the caller reads alone.
void call_readers(const std::shared_ptr<Task>& task, i64 count) {
  Readers& r = readers();
  std::lock_guard<std::mutex> lock(r.mutex);
  try {
    while (r.started < kReaders && r.started < static_cast<int>(r.tasks.size()) + count) {
      std::thread(read_forever).detach();
      ++r.started;
    }
  } catch (const std::system_error&) {
    if (r.started == 0) return;
  }
  for (; task->working < count; ++task->working) r.tasks.push_back(task);
  r.wake.notify_all();
}

}  // namespace

void read_rows(i64 file, const i32* ids, const i32* out_rows, void* out, i64 n, i64 row_bytes, i64 gap_bytes) {
  if (n <= 0 || row_bytes <= 0) return;
  auto task = std::make_shared<Task>();
  task->file = file;
  task->ids = ids;
  task->out_rows = out_rows;
  task->out = static_cast<u8*>(out);
  task->n = n;
  task->row_bytes = row_bytes;
  task->cut(gap_bytes);
  const i64 helpers = task->runs() - 1 < kReaders ? task->runs() - 1 : kReaders;
  if (helpers > 0) call_readers(task, helpers);
  PageBuffer buffer;
  task->help(buffer);
  std::unique_lock<std::mutex> lock(task->mutex);
  task->idle.wait(lock, [&] { return task->working == 0; });
  if (!task->error.empty()) throw std::runtime_error(task->error);
}

}  // namespace skein
