// Reducing a contiguous run to one number, with the same bits at every vector width.
//
// 512 elements at a time go through four vectors of 64 bytes; the results of these blocks are joined in double and in
// order. A float sum therefore has the rounding error of a few additions, however long the run is.
#pragma once

#include <limits>

#include "support/common.h"
#include "support/lanes.h"

namespace skein {

struct Sum {
  static constexpr double identity = 0.0;
  template <class V>
  static inline V join(V total, V x) {
    return total + x;
  }
};

// A NaN replaces any total, and no number compares greater than a NaN total.
struct Max {
  static constexpr double identity = -std::numeric_limits<double>::infinity();
  template <class V>
  static inline V join(V total, V x) {
    const V greater = x > total ? x : total;
    return x != x ? x : greater;
  }
};

struct Min {
  static constexpr double identity = std::numeric_limits<double>::infinity();
  template <class V>
  static inline V join(V total, V x) {
    const V smaller = x < total ? x : total;
    return x != x ? x : smaller;
  }
};

template <class Op, class T>
inline Lanes<T> join_lanes(const Lanes<T>& total, const Lanes<T>& x) {
  Lanes<T> r;
  for (int k = 0; k < Lanes<T>::parts; ++k) r.part[k] = Op::join(total.part[k], x.part[k]);
  return r;
}

constexpr i64 kReduceBlock = 512;

// n <= kReduceBlock.
template <class Op, class T>
inline T reduce_block(const T* x, i64 n) {
  using V = Lanes<T>;
  constexpr i64 c = V::count;
  T total = static_cast<T>(Op::identity);
  i64 i = 0;
  if (n >= 4 * c) {
    V a = V::load(x), b = V::load(x + c), d = V::load(x + 2 * c), e = V::load(x + 3 * c);
    for (i = 4 * c; i + 4 * c <= n; i += 4 * c) {
      a = join_lanes<Op>(a, V::load(x + i));
      b = join_lanes<Op>(b, V::load(x + i + c));
      d = join_lanes<Op>(d, V::load(x + i + 2 * c));
      e = join_lanes<Op>(e, V::load(x + i + 3 * c));
    }
    a = join_lanes<Op>(join_lanes<Op>(a, b), join_lanes<Op>(d, e));
    for (; i + c <= n; i += c) a = join_lanes<Op>(a, V::load(x + i));
    total = fold(a, [](auto u, auto v) { return Op::join(u, v); });
  } else if (n >= c) {
    V a = V::load(x);
    for (i = c; i + c <= n; i += c) a = join_lanes<Op>(a, V::load(x + i));
    total = fold(a, [](auto u, auto v) { return Op::join(u, v); });
  }
  for (; i < n; ++i) total = Op::join(total, x[i]);
  return total;
}

template <class Op, class T>
inline double reduce_run(const T* x, i64 n) {
  double total = Op::identity;
  for (i64 i = 0; i < n; i += kReduceBlock) {
    const i64 size = n - i < kReduceBlock ? n - i : kReduceBlock;
    total = Op::join(total, static_cast<double>(reduce_block<Op>(x + i, size)));
  }
  return total;
}

}  // namespace skein
