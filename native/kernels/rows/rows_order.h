// Positions arranged by id, so that rows of equal id have one owner and meet in a fixed order.
//
// A key holds id << 32 | position: one integer gives the order, and no two keys are equal. Both arrangements are
// unique, hence the same for every number of threads.
#pragma once

#include <vector>

#include "support/common.h"

namespace skein {

// Two buffers of n keys. A thread keeps its buffers for the next call unless they are very large.
class RowKeys {
 public:
  explicit RowKeys(i64 n);
  ~RowKeys();
  RowKeys(const RowKeys&) = delete;
  RowKeys& operator=(const RowKeys&) = delete;

  i64 size() const { return n_; }
  i64 id(i64 k) const { return static_cast<i64>(keys_[k] >> 32); }
  i64 position(i64 k) const { return static_cast<i64>(keys_[k] & 0xffffffffu); }

 protected:
  i64 n_;
  u64* keys_;
  u64* spare_;
};

// Sorted by id, equal ids by position. `rows` bounds the ids from above and sets the number of sorting passes.
class RowOrder : public RowKeys {
 public:
  RowOrder(const i32* ids, i64 n, i64 rows);

  // Whether a run of equal ids begins at k.
  bool starts(i64 k) const { return k == 0 || id(k) != id(k - 1); }
  // First k' > k with another id, or size().
  i64 run_end(i64 k) const {
    i64 e = k + 1;
    while (e < n_ && id(e) == id(k)) ++e;
    return e;
  }

 private:
  void sort_radix(const i32* ids, int bits);
};

// Grouped by ranges of ids: bucket b has the ids [b << shift, (b + 1) << shift), in ascending position.
class RowBuckets : public RowKeys {
 public:
  // Makes at most `most` buckets (a power of two, up to 2048).
  RowBuckets(const i32* ids, i64 n, i64 rows, i64 most);

  i64 count() const { return static_cast<i64>(starts_.size()) - 1; }
  i64 begin(i64 bucket) const { return starts_[bucket]; }
  i64 end(i64 bucket) const { return starts_[bucket + 1]; }

 private:
  std::vector<i64> starts_;
};

}  // namespace skein
