// groupByKey: entries go to buckets of neighbouring keys first, then each bucket is sorted by counting within the cache.
//
// The input is divided into fixed blocks that count and scatter in parallel; a bucket takes from block 0, then from block 1,
// and so on: positions stay ascending for any number of threads. They are scattered into `order` itself; a bucket
// copies its range before it sorts them into place.
#include "sparse/group_by_key.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace skein {
namespace {

constexpr i64 kSmall = 1 << 16;
constexpr i64 kBlock = 1 << 16, kMostBlocks = 64;
constexpr i64 kBucketKeys = 2048, kMostBuckets = 1024;

void group_few(const i32* keys, Offsets offsets, i32* order, i64 n, i64 count) {
  std::vector<i32> next(static_cast<std::size_t>(count + 1));
  for (i64 i = 0; i < n; ++i) ++next[keys[i] + 1];
  for (i64 k = 0; k < count; ++k) next[k + 1] += next[k];
  for (i64 k = 0; k <= count; ++k) offsets.set(k, next[k]);
  for (i64 i = 0; i < n; ++i) order[next[keys[i]]++] = static_cast<i32>(i);
}

struct Buckets {
  int shift = 0;
  i64 count;
  explicit Buckets(i64 keys) {
    while ((i64{1} << shift) < kBucketKeys) ++shift;
    while (((keys - 1) >> shift) + 1 > kMostBuckets) ++shift;
    count = ((keys - 1) >> shift) + 1;
  }
};

// Keys first … first + many − 1 of one bucket, whose entries are at begin … end − 1 of order and low.
void sort_bucket(const u32* low, Offsets offsets, i32* order, i64 first, i64 many, i64 begin, i64 end,
                 std::vector<i32>& next, std::vector<i32>& copy) {
  next.assign(static_cast<std::size_t>(many + 1), 0);
  copy.assign(order + begin, order + end);
  for (i64 i = begin; i < end; ++i) ++next[low[i] + 1];
  next[0] = static_cast<i32>(begin);
  for (i64 k = 0; k < many; ++k) {
    offsets.set(first + k, next[k]);
    next[k + 1] += next[k];
  }
  for (i64 i = begin; i < end; ++i) order[next[low[i]]++] = copy[i - begin];
}

}  // namespace

void group_by_key(const i32* keys, Offsets offsets, i32* order, i64 n, i64 count) {
  if (n < kSmall) return group_few(keys, offsets, order, n, count);
  const Buckets buckets(count);
  const i64 wanted = (n + kBlock - 1) / kBlock;
  const i64 blocks = std::min(wanted, kMostBlocks);
  const auto block_start = [=](i64 b) { return n * b / blocks; };
  // Entries per block and bucket, then where the block writes its next one.
  std::vector<i32> place(static_cast<std::size_t>(blocks * buckets.count));
  parallel_for(blocks, 1, [&](i64 b, i64) {
    i32* counts = place.data() + b * buckets.count;
    for (i64 i = block_start(b), end = block_start(b + 1); i < end; ++i) ++counts[keys[i] >> buckets.shift];
  });
  std::vector<i64> starts(static_cast<std::size_t>(buckets.count + 1));
  i64 total = 0;
  for (i64 k = 0; k < buckets.count; ++k) {
    starts[k] = total;
    for (i64 b = 0; b < blocks; ++b) {
      const i32 here = place[b * buckets.count + k];
      place[b * buckets.count + k] = static_cast<i32>(total);
      total += here;
    }
  }
  starts[buckets.count] = n;
  const std::unique_ptr<u32[]> low(new u32[static_cast<std::size_t>(n)]);  // not cleared: all of it is written
  const i32 mask = static_cast<i32>((i64{1} << buckets.shift) - 1);
  parallel_for(blocks, 1, [&](i64 b, i64) {
    i32* next = place.data() + b * buckets.count;
    for (i64 i = block_start(b), end = block_start(b + 1); i < end; ++i) {
      const i32 at = next[keys[i] >> buckets.shift]++;
      low[at] = static_cast<u32>(keys[i] & mask);
      order[at] = static_cast<i32>(i);
    }
  });
  parallel_for(
      buckets.count, 1,
      [&](i64 k, i64) {
        thread_local std::vector<i32> next, copy;
        const i64 first = k << buckets.shift;
        const i64 many = std::min(i64{1} << buckets.shift, count - first);
        sort_bucket(low.get(), offsets, order, first, many, starts[k], starts[k + 1], next, copy);
      },
      Share::asked);
  offsets.set(count, n);
}

}  // namespace skein
