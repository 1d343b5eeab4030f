// One number for a whole array: the sum of squares, and two searches for values that should not be there.
#include <atomic>
#include <memory>

#include "reduce/reduce.h"
#include "support/vecmath_base.h"

namespace skein {

namespace {

typedef double Double4 __attribute__((vector_size(32)));
typedef float Float4 __attribute__((vector_size(16)));

// Through a reference: returning a vector wider than the machine's would depend on the level's calling convention.
inline void load4(const float* p, Double4& out) {
  Float4 v;
  __builtin_memcpy(&v, p, sizeof(v));
  out = __builtin_convertvector(v, Double4);
}

inline void load4(const double* p, Double4& out) { __builtin_memcpy(&out, p, sizeof(out)); }

// 32 running sums in double, for every vector width; then folded in a fixed order.
template <class T>
double sum_squares_run(const T* x, i64 n) {
  Double4 sums[8] = {};
  i64 i = 0;
  for (; i + 32 <= n; i += 32) {
    for (int k = 0; k < 8; ++k) {
      Double4 v;
      load4(x + i + 4 * k, v);
      sums[k] += v * v;
    }
  }
  const Double4 low = (sums[0] + sums[1]) + (sums[2] + sums[3]), high = (sums[4] + sums[5]) + (sums[6] + sums[7]);
  const Double4 all = low + high;
  double total = (all[0] + all[1]) + (all[2] + all[3]);
  for (; i < n; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return total;
}

inline bool not_finite(float x) { return (vm::bit_cast<u32>(x) & 0x7f800000u) == 0x7f800000u; }
inline bool not_finite(double x) { return !(vm::absolute(x) < vm::kInfinity<double>); }

}  // namespace

template <class T>
double sum_squares(const T* x, i64 n) {
  const i64 chunks = (n + kElementGrain - 1) / kElementGrain;
  const std::unique_ptr<double[]> partial(new double[chunks + 1]);
  double* parts = partial.get();
  parallel_for(n, kElementGrain, [=](i64 begin, i64 end) {
    parts[begin / kElementGrain] = sum_squares_run(x + begin, end - begin);
  });
  double total = 0;
  for (i64 c = 0; c < chunks; ++c) total += parts[c];
  return total;
}

template <class T>
i64 all_finite(const T* x, i64 n) {
  std::atomic<bool> found{false};
  parallel_for(n, kElementGrain, [&](i64 begin, i64 end) {
    if (found.load(std::memory_order_relaxed)) return;
    const T* values = x;
    int bad = 0;
    for (i64 i = begin; i < end; ++i) bad |= not_finite(values[i]);
    if (bad) found.store(true, std::memory_order_relaxed);
  });
  return found.load() ? 0 : 1;
}

i64 find_out_of_range(const i32* ids, i64 n, i64 lo, i64 hi) {
  // Bounds outside i32 cannot be crossed on that side; an empty interval leaves every id out.
  const i64 low = lo < INT32_MIN ? INT32_MIN : lo, high = hi > INT64_C(0x80000000) ? INT64_C(0x80000000) : hi;
  if (n <= 0) return -1;
  if (low >= high) return 0;
  const u32 base = static_cast<u32>(low);
  const u32 last = static_cast<u32>(high - 1 - low);
  std::atomic<i64> first{n};
  parallel_for(n, kElementGrain, [&](i64 begin, i64 end) {
    if (begin > first.load(std::memory_order_relaxed)) return;
    const i32* values = ids;
    int bad = 0;
    for (i64 i = begin; i < end; ++i) bad |= static_cast<u32>(values[i]) - base > last;
    if (!bad) return;
    i64 position = begin;
    while (static_cast<u32>(values[position]) - base <= last) ++position;
    i64 seen = first.load();
    while (position < seen && !first.compare_exchange_weak(seen, position)) {
    }
  });
  const i64 position = first.load();
  return position < n ? position : -1;
}

template double sum_squares<float>(const float*, i64);
template double sum_squares<double>(const double*, i64);
template i64 all_finite<float>(const float*, i64);
template i64 all_finite<double>(const double*, i64);

}  // namespace skein
