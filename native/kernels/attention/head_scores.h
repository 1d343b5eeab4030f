// Scores of the entries of a row, [n, heads]: largest and sum per head, and what is done to all entries head by head.
//
// Common numbers of heads are template arguments, so that the heads of an entry are one vector; 0 means any other number.
// A head's scores are combined in ascending order, except where there is only one head: then in lanes.
#pragma once

#include "softmax/softmax_row.h"

namespace skein {

template <class F>
inline void with_heads(i64 heads, F&& f) {
  switch (heads) {
    case 1: return f(std::integral_constant<int, 1>{});
    case 2: return f(std::integral_constant<int, 2>{});
    case 4: return f(std::integral_constant<int, 4>{});
    case 8: return f(std::integral_constant<int, 8>{});
    default: return f(std::integral_constant<int, 0>{});
  }
}

template <class T, int H>
struct HeadVector {
  typedef T V __attribute__((vector_size(H * sizeof(T))));
  V v;
  static HeadVector load(const T* p) {
    HeadVector r;
    std::memcpy(&r.v, p, sizeof r.v);
    return r;
  }
  static HeadVector set(T value) {
    HeadVector r;
    r.v = value - V{};
    return r;
  }
  void store(T* p) const { std::memcpy(p, &v, sizeof v); }
};

template <int H, class T>
inline void head_max(const T* s, i64 n, i64 heads, T* top) {
  if constexpr (H == 1) {
    *top = row_max(s, n);
  } else if constexpr (H > 1) {
    auto best = HeadVector<T, H>::set(-vm::kInfinity<T>);
    for (i64 i = 0; i < n; ++i) {
      const auto next = HeadVector<T, H>::load(s + i * H);
      best.v = next.v > best.v ? next.v : best.v;
    }
    best.store(top);
  } else {
    for (i64 h = 0; h < heads; ++h) top[h] = -vm::kInfinity<T>;
    for (i64 i = 0; i < n; ++i)
      for (i64 h = 0; h < heads; ++h) top[h] = s[i * heads + h] > top[h] ? s[i * heads + h] : top[h];
  }
}

template <int H, class T>
inline void head_sum(const T* s, i64 n, i64 heads, T* total) {
  if constexpr (H == 1) {
    auto all = Lanes<T>::set(T(0));
    for_lanes<T>(n, [&](i64 i, auto lanes) { all = all + Lanes<T>::load(s + i, lanes, T(0)); });
    *total = sum(all);
  } else if constexpr (H > 1) {
    auto all = HeadVector<T, H>::set(T(0));
    for (i64 i = 0; i < n; ++i) all.v += HeadVector<T, H>::load(s + i * H).v;
    all.store(total);
  } else {
    for (i64 h = 0; h < heads; ++h) total[h] = T(0);
    for (i64 i = 0; i < n; ++i)
      for (i64 h = 0; h < heads; ++h) total[h] += s[i * heads + h];
  }
}

// to[i, h] = from[i, h] changed by f(value, of[h]), which takes single values and vectors, by reference: how vectors would
// travel by value depends on the instruction set. `to` may be `from`.
template <int H, class T, class F>
inline void head_map(const T* from, i64 n, i64 heads, const T* of, T* to, F f) {
  if constexpr (H == 1) {
    const T one = *of;
#pragma GCC ivdep
    for (i64 i = 0; i < n; ++i) {
      T value = from[i];
      f(value, one);
      to[i] = value;
    }
  } else if constexpr (H > 1) {
    const auto all = HeadVector<T, H>::load(of);
    for (i64 i = 0; i < n; ++i) {
      auto value = HeadVector<T, H>::load(from + i * H);
      f(value.v, all.v);
      value.store(to + i * H);
    }
  } else {
    for (i64 i = 0; i < n; ++i) {
      for (i64 h = 0; h < heads; ++h) {
        T value = from[i * heads + h];
        f(value, of[h]);
        to[i * heads + h] = value;
      }
    }
  }
}

// s = exp(s) for s <= 0.
template <class T>
inline void exp_all(T* s, i64 n) {
  for_lanes<T>(n, [=](i64 i, auto lanes) { exp_lanes(Lanes<T>::load(s + i, lanes, T(0))).store(s + i, lanes); });
}

// alpha = softmax over the n edges of scale · leaky(raw), by head.
template <int H, class T>
inline void softmax_edges(const T* raw, T* alpha, T* common, i64 n, i64 heads, T scale, T slope) {
  for (i64 c = 0; c < n * heads; ++c) alpha[c] = scale * (raw[c] > T(0) ? raw[c] : slope * raw[c]);
  head_max<H>(alpha, n, heads, common);
  head_map<H>(alpha, n, heads, common, alpha, [](auto& s, const auto& top) { s -= top; });
  exp_all(alpha, n * heads);
  head_sum<H>(alpha, n, heads, common);
  head_map<H>(alpha, n, heads, common, alpha, [](auto& s, const auto& total) { s /= total; });
}

}  // namespace skein
