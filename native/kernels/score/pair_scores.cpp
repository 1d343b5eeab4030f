// Operations on pairs of rows: their score with its gradient, and the product of rows of complex numbers.
#include "score/score.h"

#include "score/score_chains.h"

namespace skein {
namespace {

using namespace score_detail;

constexpr i64 kPairGrain = 256;
constexpr int kTogether = 8;  // chains in flight, which hide the latency of one

// The chains over the first k of d columns.
template <class T, class Step>
void run_chains(const T* a, const T* b, T* x, i64 count, i64 d, i64 k, Step step) {
  i64 i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    T sums[kTogether] = {};
    for (i64 p = 0; p < k; ++p) {
#pragma GCC unroll 8
      for (int r = 0; r < kTogether; ++r) sums[r] = step(a[(i + r) * d + p], b[(i + r) * d + p], sums[r]);
    }
    std::copy(sums, sums + kTogether, x + i);
  }
  for (; i < count; ++i) {
    T total = T(0);
    for (i64 p = 0; p < k; ++p) total = step(a[i * d + p], b[i * d + p], total);
    x[i] = total;
  }
}

// ga = -gb = the gradient of minus the sum of moduli; either may be null.
template <class T>
void modulus_pair_backward(T g, const T* u, const T* v, T* ga, T* gb, i64 d) {
  const i64 half = d / 2;
  for (i64 c = 0; c < half; ++c) {
    const T re = u[c] - v[c], im = u[half + c] - v[half + c];
    const T w = g * inverse_modulus<T, Single<T>>(re, im);
    if (ga) ga[c] = -(w * re), ga[half + c] = -(w * im);
    if (gb) gb[c] = w * re, gb[half + c] = w * im;
  }
  if (ga && d % 2) ga[d - 1] = T(0);
  if (gb && d % 2) gb[d - 1] = T(0);
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
      run_chains(x, y, to, count, width, width, [](T u, T v, T s) { return vm::mad(u, v, s); });
    } else if (how == ScoreOp::l1) {
      run_chains(x, y, to, count, width, width, [](T u, T v, T s) { return std::abs(u - v) + s; });
    } else if (how == ScoreOp::modulus) {
      for (i64 i = 0; i < count; ++i) to[i] = modulus_pair(x + i * width, y + i * width, width);
    } else {
      const bool biased = how == ScoreOp::biasedSquaredL2 && width > 0;
      run_chains(x, y, to, count, width, width - biased, [](T u, T v, T s) { return vm::mad(u - v, u - v, s); });
      const T *q = x + width - 1, *n = y + width - 1;
      for (i64 i = 0; biased && i < count; ++i) to[i] = to[i] - (q[i * width] + n[i * width]);
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
      } else if (how == ScoreOp::modulus) {
        modulus_pair_backward(g, u, v, ga ? ga + i * width : nullptr, gb ? gb + i * width : nullptr, width);
      } else if (how != ScoreOp::l1) {
        const T h = how != ScoreOp::l2 ? 2 * g : y[i] < cut ? g / -y[i] : T(0);
        write(ga, i, [&](i64 c) { return h * (v[c] - u[c]); });
        write(gb, i, [&](i64 c) { return h * (u[c] - v[c]); });
        if (how != ScoreOp::biasedSquaredL2 || width == 0) continue;
        if (ga) ga[(i + 1) * width - 1] = g;
        if (gb) gb[(i + 1) * width - 1] = g;
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
