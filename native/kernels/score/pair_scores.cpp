// Operations on pairs of rows: their score with its gradient, and the product of rows of complex numbers.
#include "score/score.h"

#include "score/score_tiles.h"

namespace skein {
namespace {

using namespace score_detail;

constexpr i64 kPairGrain = 256;
constexpr int kTogether = 8;  // chains in flight, which hide the latency of one

template <class T, class Step>
void run_chains(const T* a, const T* b, T* x, i64 count, i64 d, Step step) {
  i64 i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    T sums[kTogether] = {};
    for (i64 p = 0; p < d; ++p) {
#pragma GCC unroll 8
      for (int r = 0; r < kTogether; ++r) sums[r] = step(a[(i + r) * d + p], b[(i + r) * d + p], sums[r]);
    }
    std::copy(sums, sums + kTogether, x + i);
  }
  for (; i < count; ++i) {
    T total = T(0);
    for (i64 p = 0; p < d; ++p) total = step(a[i * d + p], b[i * d + p], total);
    x[i] = total;
  }
}

}  // namespace

template <class T>
void complex_product(const T* a, const T* b, T* out, i64 rows, i64 half, bool conjugate) {
  const T sign = conjugate ? T(-1) : T(1);
  parallel_for(rows, kPairGrain, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      const T *SKEIN_RESTRICT x = a + 2 * i * half, *SKEIN_RESTRICT y = b + 2 * i * half;
      T* SKEIN_RESTRICT to = out + 2 * i * half;
      for (i64 c = 0; c < half; ++c) {
        const T im = sign * y[half + c];
        to[c] = x[c] * y[c] - x[half + c] * im;
        to[half + c] = x[c] * im + x[half + c] * y[c];
      }
    }
  });
}

template <class T>
void pair_scores(i64 op, const T* a, const T* b, T* out, i64 pairs, i64 width) {
  const ScoreOp how = static_cast<ScoreOp>(op);
  parallel_for(pairs, kPairGrain, [&](i64 begin, i64 end) {
    const T *x = a + begin * width, *y = b + begin * width;
    T* to = out + begin;
    const i64 count = end - begin;
    if (how == ScoreOp::dot) {
      run_chains(x, y, to, count, width, [](T u, T v, T s) { return vm::mad(u, v, s); });
    } else if (how == ScoreOp::l2) {
      run_chains(x, y, to, count, width, [](T u, T v, T s) { return vm::mad(u - v, u - v, s); });
    } else {
      run_chains(x, y, to, count, width, [](T u, T v, T s) { return std::abs(u - v) + s; });
    }
    for (i64 i = 0; i < count; ++i) to[i] = finish(how, to[i]);
  });
}

template <class T>
void pair_scores_backward(i64 op, const T* gy, const T* y, const T* a, const T* b, T* ga, T* gb, i64 pairs,
                          i64 width) {
  const ScoreOp how = static_cast<ScoreOp>(op);
  const T cut = -std::sqrt(T(1e-8));
  const auto write = [width](T* to, i64 i, auto value) {
    if (!to) return;
    for (i64 c = 0; c < width; ++c) to[i * width + c] = value(c);
  };
  parallel_for(pairs, kPairGrain, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      const T *u = a + i * width, *v = b + i * width, g = gy[i];
      if (how == ScoreOp::dot) {
        write(ga, i, [&](i64 c) { return g * v[c]; });
        write(gb, i, [&](i64 c) { return g * u[c]; });
      } else if (how == ScoreOp::l2) {
        const T h = y[i] < cut ? g / -y[i] : T(0);
        write(ga, i, [&](i64 c) { return h * (v[c] - u[c]); });
        write(gb, i, [&](i64 c) { return h * (u[c] - v[c]); });
      } else {
        write(ga, i, [&](i64 c) { return u[c] > v[c] ? -g : u[c] < v[c] ? g : T(0); });
        write(gb, i, [&](i64 c) { return u[c] > v[c] ? g : u[c] < v[c] ? -g : T(0); });
      }
    }
  });
}

#define SKEIN_INSTANTIATE(T)                                                    \
  template void complex_product(const T*, const T*, T*, i64, i64, bool);        \
  template void pair_scores(i64, const T*, const T*, T*, i64, i64);             \
  template void pair_scores_backward(i64, const T*, const T*, const T*, const T*, T*, T*, i64, i64);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
