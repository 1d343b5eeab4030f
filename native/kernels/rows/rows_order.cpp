// Arrangement of (id, position) keys by stable passes over digits of the id, low digit first; each chunk has its own
// histogram, so that chunks count and move in parallel. Sorted ids need no pass, a handful gets a comparison sort.
#include "rows/rows_order.h"

#include <algorithm>
#include <memory>

namespace skein {
namespace {

constexpr int kDigitBits = 11;
constexpr i64 kSmall = 256;
constexpr i64 kMaxChunks = 64;
constexpr i64 kMinChunk = 16384;
// Up to this many keys per buffer (2 x 32 MB) are kept by the thread.
constexpr i64 kKeptKeys = 4 << 20;

struct Kept {
  std::unique_ptr<u64[]> memory;
  i64 capacity = 0;
};
thread_local Kept kept;

u64* take_keys(i64 count) {
  if (count > 2 * kKeptKeys) return new u64[count];
  if (kept.capacity < count) {
    kept.memory.reset();
    kept.memory.reset(new u64[count]);
    kept.capacity = count;
  }
  return kept.memory.get();
}

inline u64 make_key(const i32* ids, i64 i) {
  return static_cast<u64>(static_cast<u32>(ids[i])) << 32 | static_cast<u64>(i);
}

bool is_sorted(const i32* ids, i64 n) {
  for (i64 i = 1; i < n; ++i)
    if (ids[i] < ids[i - 1]) return false;
  return true;
}

int bits_for(i64 rows) {
  int bits = 1;
  while (bits < 31 && i64{1} << bits < rows) ++bits;
  return bits;
}

// One stable pass over the digit at `shift`: to[…] = key(i) in the order of the digit. Returns the start of each digit.
template <class Key>
std::vector<i64> radix_pass(Key key, u64* to, i64 n, int shift, int digit_bits) {
  const i64 digits = i64{1} << digit_bits;
  const u64 mask = static_cast<u64>(digits - 1);
  const i64 grain = std::max(kMinChunk, (n + kMaxChunks - 1) / kMaxChunks);
  const i64 chunks = (n + grain - 1) / grain;
  std::vector<u32> next(static_cast<std::size_t>(chunks * digits), 0);
  parallel_for(n, grain, [&](i64 begin, i64 end) {
    u32* count = next.data() + begin / grain * digits;
    for (i64 i = begin; i < end; ++i) ++count[key(i) >> shift & mask];
  });
  std::vector<i64> starts(static_cast<std::size_t>(digits + 1), n);
  u32 sum = 0;
  for (i64 d = 0; d < digits; ++d) {
    starts[d] = sum;
    for (i64 c = 0; c < chunks; ++c) {
      const u32 count = next[c * digits + d];
      next[c * digits + d] = sum;
      sum += count;
    }
  }
  parallel_for(n, grain, [&](i64 begin, i64 end) {
    u32* at = next.data() + begin / grain * digits;
    for (i64 i = begin; i < end; ++i) {
      const u64 k = key(i);
      to[at[k >> shift & mask]++] = k;
    }
  });
  return starts;
}

}  // namespace

RowKeys::RowKeys(i64 n) : n_(n), keys_(take_keys(2 * n)), spare_(keys_ + n) {}

RowKeys::~RowKeys() {
  u64* memory = std::min(keys_, spare_);
  if (memory != kept.memory.get()) delete[] memory;
}

RowOrder::RowOrder(const i32* ids, i64 n, i64 rows) : RowKeys(n) {
  if (n > kSmall && !is_sorted(ids, n)) {
    sort_radix(ids, bits_for(rows));
    return;
  }
  parallel_for(n, kElementGrain, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) keys_[i] = make_key(ids, i);
  });
  if (n <= kSmall) std::sort(keys_, keys_ + n);
}

void RowOrder::sort_radix(const i32* ids, int bits) {
  const int passes = (bits + kDigitBits - 1) / kDigitBits;
  const int digit_bits = (bits + passes - 1) / passes;
  radix_pass([ids](i64 i) { return make_key(ids, i); }, keys_, n_, 32, digit_bits);
  for (int pass = 1; pass < passes; ++pass) {
    const u64* from = keys_;
    radix_pass([from](i64 i) { return from[i]; }, spare_, n_, 32 + pass * digit_bits, digit_bits);
    std::swap(keys_, spare_);
  }
}

RowBuckets::RowBuckets(const i32* ids, i64 n, i64 rows, i64 most) : RowKeys(n) {
  const int bits = bits_for(rows);
  const int digit_bits = std::min(bits, bits_for(most));
  starts_ = radix_pass([ids](i64 i) { return make_key(ids, i); }, keys_, n, 32 + bits - digit_bits, digit_bits);
}

}  // namespace skein
