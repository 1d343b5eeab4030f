// `Bytes`: a vector of bytes that are not set to 0 first, in memory that is used again.
//
// Long messages come and go all the time. Fresh memory for each would be given by the system page by page, which costs about
// as much as copying the message; so buffers above 64 kB are kept for the next one, up to 64 MB in all.
#pragma once

#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

#include "wire.h"

namespace skein_mpi {

class BufferPool {
 public:
  static constexpr size_t kLeast = 64 << 10, kMost = 64 << 20;

  // All vectors of one length ask for the same number of bytes, so a buffer that fits is found by its length alone.
  void* take(size_t bytes) {
    if (bytes >= kLeast) {
      std::lock_guard<std::mutex> lock(mutex_);
      for (size_t i = kept_.size(); i-- > 0;) {
        if (kept_[i].bytes != bytes) continue;
        void* data = kept_[i].data;
        kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
        total_ -= bytes;
        return data;
      }
    }
    return ::operator new(bytes);
  }

  void give(void* data, size_t bytes) {
    if (bytes < kLeast || bytes > kMost) {
      ::operator delete(data);
      return;
    }
    std::lock_guard<std::mutex> lock(mutex_);
    kept_.push_back({data, bytes});
    total_ += bytes;
    while (total_ > kMost) {  // the one that has waited longest
      ::operator delete(kept_.front().data);
      total_ -= kept_.front().bytes;
      kept_.erase(kept_.begin());
    }
  }

 private:
  struct Kept {
    void* data;
    size_t bytes;
  };
  std::mutex mutex_;
  std::vector<Kept> kept_;
  size_t total_ = 0;
};

inline BufferPool& buffer_pool() {
  static BufferPool* pool = new BufferPool;  // never destroyed: other threads may outlive static objects
  return *pool;
}

// Rounded up, so that messages of about the same length share buffers.
inline size_t pooled_size(size_t bytes) {
  if (bytes < BufferPool::kLeast) return bytes;
  size_t step = BufferPool::kLeast / 8;
  while (step * 16 < bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

template <class T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(buffer_pool().take(pooled_size(count * sizeof(T)))); }
  void deallocate(T* data, size_t count) { buffer_pool().give(data, pooled_size(count * sizeof(T))); }
  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;  // no value: resize() does not fill
  }
  template <class U, class... Args>
  void construct(U* place, Args&&... args) {
    ::new (static_cast<void*>(place)) U(static_cast<Args&&>(args)...);
  }
  template <class U>
  bool operator==(const PoolAllocator<U>&) const { return true; }
  template <class U>
  bool operator!=(const PoolAllocator<U>&) const { return false; }
};

using Bytes = std::vector<u8, PoolAllocator<u8>>;

}  // namespace skein_mpi
