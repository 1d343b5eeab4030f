// Batch normalisation: statistics and gradients over the rows, column by column.
//
// A block of rows fits the second-level cache, so the two passes over it (sums, then deviations from the block's own
// mean) read memory once. Blocks are merged in order and in double by the formula of Chan, Golub and LeVeque (1979),
// which is stable for data far from 0.
#include "support/lanes.h"
#include "norm/norm.h"
#include "norm/norm_blocks.h"

namespace skein {

// to[c] += Σ f(x[r, c], gy[r, c], c) over `rows` rows; four rows per pass over `to`.
template <class T, class F>
static inline void add_rows(const T* x, const T* gy, T* SKEIN_RESTRICT to, i64 rows, i64 cols, F f) {
  i64 r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T *x0 = x + r * cols, *x1 = x0 + cols, *x2 = x1 + cols, *x3 = x2 + cols;
    const T *g0 = gy + r * cols, *g1 = g0 + cols, *g2 = g1 + cols, *g3 = g2 + cols;
    for (i64 c = 0; c < cols; ++c) {
      to[c] += (f(x0[c], g0[c], c) + f(x1[c], g1[c], c)) + (f(x2[c], g2[c], c) + f(x3[c], g3[c], c));
    }
  }
  for (; r < rows; ++r) {
    const T *xr = x + r * cols, *gr = gy + r * cols;
    for (i64 c = 0; c < cols; ++c) to[c] += f(xr[c], gr[c], c);
  }
}

// Mean (m) and sum of squared deviations (s) of one block; d is scratch. All have length cols.
template <class T>
static void block_stats(const T* x, T* SKEIN_RESTRICT m, T* SKEIN_RESTRICT s, T* SKEIN_RESTRICT d, i64 rows, i64 cols) {
  const T n = static_cast<T>(rows);
  for (i64 c = 0; c < cols; ++c) m[c] = s[c] = d[c] = T(0);
  add_rows(x, x, m, rows, cols, [](T v, T, i64) { return v; });
  for (i64 c = 0; c < cols; ++c) m[c] /= n;
  const T* SKEIN_RESTRICT mean = m;
  add_rows(x, x, s, rows, cols, [mean](T v, T, i64 c) { return (v - mean[c]) * (v - mean[c]); });
  add_rows(x, x, d, rows, cols, [mean](T v, T, i64 c) { return v - mean[c]; });
  for (i64 c = 0; c < cols; ++c) s[c] -= d[c] * (d[c] / n);
}

template <class T>
void column_stats(const T* x, T* mean, T* variance, i64 rows, i64 cols) {
  const i64 grain = block_rows(rows, cols), blocks = (rows + grain - 1) / grain;
  std::vector<T> parts(static_cast<size_t>(3 * blocks * cols));
  T* const base = parts.data();
  parallel_for(rows, grain, [=](i64 begin, i64 end) {
    T* const own = base + 3 * (begin / grain) * cols;
    block_stats(x + begin * cols, own, own + cols, own + 2 * cols, end - begin, cols);
  });
  std::vector<double> merged(static_cast<size_t>(2 * cols), 0.0);
  double* SKEIN_RESTRICT m = merged.data();
  double* SKEIN_RESTRICT s = m + cols;
  double seen = 0.0;
  for (i64 b = 0; b < blocks; ++b) {
    const T* SKEIN_RESTRICT bm = base + 3 * b * cols;
    const T* SKEIN_RESTRICT bs = bm + cols;
    const T* SKEIN_RESTRICT bd = bs + cols;
    const double n = static_cast<double>(b + 1 < blocks ? grain : rows - b * grain);
    const double share = n / (seen + n), weight = seen * share;
    for (i64 c = 0; c < cols; ++c) {
      const double delta = (static_cast<double>(bm[c]) + static_cast<double>(bd[c]) / n) - m[c];
      m[c] += delta * share;
      s[c] += static_cast<double>(bs[c]) + delta * delta * weight;
    }
    seen += n;
  }
  for (i64 c = 0; c < cols; ++c) {
    mean[c] = static_cast<T>(m[c]);
    variance[c] = static_cast<T>(s[c] / seen);  // no rows: 0/0
    if (rows == 0) mean[c] = variance[c];
  }
}

template <class T>
void batch_norm(const T* x, const T* mean, const T* rstd, const T* gamma, const T* beta, T* y, i64 rows, i64 cols) {
  using L = Lanes<T>;
  const bool past = streamed(y, rows, cols);
  std::vector<T> scratch(static_cast<size_t>(2 * cols));
  T* const factor = scratch.data();
  T* const offset = factor + cols;
  for (i64 c = 0; c < cols; ++c) {
    factor[c] = gamma != nullptr ? rstd[c] * gamma[c] : rstd[c];
    offset[c] = beta != nullptr ? beta[c] : T(0);
  }
  parallel_for(rows, block_rows(0, cols), [=](i64 begin, i64 end) {
    for (i64 r = begin; r < end; ++r) {
      const T* from = x + r * cols;
      T* to = y + r * cols;
      for_lanes<T>(cols, [=](i64 i, auto lanes) {
        const L h = L::load(from + i, lanes, T(0)) - L::load(mean + i, lanes, T(0));
        (h * L::load(factor + i, lanes, T(0)) + L::load(offset + i, lanes, T(0))).store(to + i, lanes, past);
      });
    }
    if (past) stream_end();
  });
}

// With h = (x − mean)·rstd: gbeta = Σ gy, ggamma = Σ gy·h, gx = gamma·rstd·(gy − gbeta/N − h·ggamma/N).
template <class T>
void batch_norm_backward(const T* x, const T* gy, const T* mean, const T* rstd, const T* gamma, T* gx, T* ggamma,
                         T* gbeta, i64 rows, i64 cols) {
  using L = Lanes<T>;
  const bool past = streamed(gx, rows, cols);
  const i64 grain = block_rows(rows, cols), blocks = (rows + grain - 1) / grain;
  std::vector<T> sums(static_cast<size_t>(2 * blocks * cols), T(0));
  T* const base = sums.data();
  parallel_for(rows, grain, [=](i64 begin, i64 end) {
    T* const own = base + 2 * (begin / grain) * cols;
    const T *from = x + begin * cols, *up = gy + begin * cols;
    const T *SKEIN_RESTRICT m = mean, *SKEIN_RESTRICT s = rstd;
    add_rows(from, up, own, end - begin, cols, [m, s](T v, T g, i64 c) { return g * ((v - m[c]) * s[c]); });
    add_rows(from, up, own + cols, end - begin, cols, [](T, T g, i64) { return g; });
  });
  add_blocks(sums, ggamma, gbeta, blocks, cols, cols);
  std::vector<T> scratch(static_cast<size_t>(3 * cols));
  T *const factor = scratch.data(), *const k0 = factor + cols, *const k1 = k0 + cols;
  const T n = static_cast<T>(rows);
  for (i64 c = 0; c < cols; ++c) {
    factor[c] = gamma != nullptr ? rstd[c] * gamma[c] : rstd[c];
    k0[c] = gbeta[c] / n;
    k1[c] = rstd[c] * (ggamma[c] / n);
  }
  parallel_for(rows, grain, [=](i64 begin, i64 end) {
    for (i64 r = begin; r < end; ++r) {
      const T *from = x + r * cols, *up = gy + r * cols;
      T* to = gx + r * cols;
      for_lanes<T>(cols, [=](i64 i, auto lanes) {
        const L d = L::load(from + i, lanes, T(0)) - L::load(mean + i, lanes, T(0));
        const L g = L::load(up + i, lanes, T(0)) - L::load(k0 + i, lanes, T(0));
        (L::load(factor + i, lanes, T(0)) * (g - d * L::load(k1 + i, lanes, T(0)))).store(to + i, lanes, past);
      });
    }
    if (past) stream_end();
  });
}

#define SKEIN_INSTANTIATE(T)                                                                                  \
  template void column_stats(const T*, T*, T*, i64, i64);                                                     \
  template void batch_norm(const T*, const T*, const T*, const T*, const T*, T*, i64, i64);                   \
  template void batch_norm_backward(const T*, const T*, const T*, const T*, const T*, T*, T*, T*, i64, i64);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
