// Recurrent cells: one pass over the gates of each row, every operand read and every result written once.
#include "elementwise/cells.h"

#include "support/vecmath.h"

namespace skein {
namespace {

// Rows of `hidden` units, enough of them that a thread is worth waking for the work.
template <class F>
void for_rows(i64 batch, i64 hidden, F f) {
  if (hidden <= 0) return;
  constexpr i64 kUnits = 4096;
  parallel_for(batch, (kUnits + hidden - 1) / hidden, [&](i64 begin, i64 end) {
    for (i64 row = begin; row < end; ++row) f(row);
  });
}

}  // namespace

template <class T>
void gru_cell(const T* gi, const T* gh, const T* h, T* out, T* gates, i64 batch, i64 hidden) {
  for_rows(batch, hidden, [&](i64 row) {
    const T* SKEIN_RESTRICT i = gi + row * 3 * hidden;
    const T* SKEIN_RESTRICT s = gh + row * 3 * hidden;
    const T* SKEIN_RESTRICT old = h + row * hidden;
    T* SKEIN_RESTRICT y = out + row * hidden;
    T* SKEIN_RESTRICT kept = gates + row * 4 * hidden;
#pragma omp simd
    for (i64 j = 0; j < hidden; ++j) {
      const T r = vm::sigmoid(i[j] + s[j]);
      const T z = vm::sigmoid(i[hidden + j] + s[hidden + j]);
      const T state = s[2 * hidden + j];
      const T n = vm::tanh(i[2 * hidden + j] + r * state);
      kept[j] = r;
      kept[hidden + j] = z;
      kept[2 * hidden + j] = n;
      kept[3 * hidden + j] = state;
      y[j] = n + z * (old[j] - n);
    }
  });
}

namespace {

// Gradients of one row; that of the old state only with `with_state`.
template <bool with_state, class T>
void gru_row_backward(const T* SKEIN_RESTRICT g, const T* SKEIN_RESTRICT old, const T* SKEIN_RESTRICT kept,
                      T* SKEIN_RESTRICT di, T* SKEIN_RESTRICT ds, T* SKEIN_RESTRICT dold, i64 hidden) {
#pragma omp simd
  for (i64 j = 0; j < hidden; ++j) {
    const T r = kept[j];
    const T z = kept[hidden + j];
    const T n = kept[2 * hidden + j];
    const T dn = g[j] * (T(1) - z) * (T(1) - n * n);
    const T dr = dn * kept[3 * hidden + j] * r * (T(1) - r);
    const T dz = g[j] * (old[j] - n) * z * (T(1) - z);
    di[j] = dr;
    di[hidden + j] = dz;
    di[2 * hidden + j] = dn;
    ds[j] = dr;
    ds[hidden + j] = dz;
    ds[2 * hidden + j] = dn * r;
    if (with_state) dold[j] = g[j] * z;
  }
}

}  // namespace

template <class T>
void gru_cell_backward(const T* gout, const T* h, const T* gates, T* dgi, T* dgh, T* dh, i64 batch, i64 hidden) {
  for_rows(batch, hidden, [&](i64 row) {
    const T *g = gout + row * hidden, *old = h + row * hidden, *kept = gates + row * 4 * hidden;
    T *di = dgi + row * 3 * hidden, *ds = dgh + row * 3 * hidden;
    if (dh) gru_row_backward<true>(g, old, kept, di, ds, dh + row * hidden, hidden);
    else gru_row_backward<false, T>(g, old, kept, di, ds, nullptr, hidden);
  });
}

template <class T>
void rnn_cell(const T* gi, const T* gh, T* out, i64 n, bool relu) {
  parallel_for(n, kElementGrain, [&](i64 begin, i64 end) {
    const T* SKEIN_RESTRICT i = gi;
    const T* SKEIN_RESTRICT s = gh;
    T* SKEIN_RESTRICT y = out;
    if (relu) {
#pragma omp simd
      for (i64 j = begin; j < end; ++j) {
        const T sum = i[j] + s[j];
        // Written so that NaN passes.
        y[j] = sum < T(0) ? T(0) : sum;
      }
    } else {
#pragma omp simd
      for (i64 j = begin; j < end; ++j) y[j] = vm::tanh(i[j] + s[j]);
    }
  });
}

template <class T>
void rnn_cell_backward(const T* gout, const T* out, T* g, i64 n, bool relu) {
  parallel_for(n, kElementGrain, [&](i64 begin, i64 end) {
    const T* SKEIN_RESTRICT gy = gout;
    const T* SKEIN_RESTRICT y = out;
    T* SKEIN_RESTRICT gx = g;
    if (relu) {
#pragma omp simd
      for (i64 j = begin; j < end; ++j) gx[j] = y[j] > T(0) ? gy[j] : T(0);
    } else {
#pragma omp simd
      for (i64 j = begin; j < end; ++j) gx[j] = gy[j] * (T(1) - y[j] * y[j]);
    }
  });
}

#define SKEIN_INSTANTIATE(T)                                                                      \
  template void gru_cell<T>(const T*, const T*, const T*, T*, T*, i64, i64);                      \
  template void gru_cell_backward<T>(const T*, const T*, const T*, T*, T*, T*, i64, i64);         \
  template void rnn_cell<T>(const T*, const T*, T*, i64, bool);                                   \
  template void rnn_cell_backward<T>(const T*, const T*, T*, i64, bool);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
