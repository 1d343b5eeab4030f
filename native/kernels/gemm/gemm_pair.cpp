// A pair of linear maps. Forward: a tile's chains run through both products before c is written, once. Backward: the
// gradient is read once, masked and summed while it is packed, and serves both weights from the cache.
//
// The sum over rows is split at boundaries that depend on the sizes alone; partial sums are added in order.
#include "gemm/gemm_pair.h"

#include "gemm/gemm_tasks.h"

namespace skein {
namespace gemm_detail {

constexpr i64 kPairColumns = 1024;     // of c: wider ones go as two products
constexpr i64 kNearBytes = 40 << 10;   // a panel of both b's stays in the first-level cache up to this size
constexpr i64 kPairDepth = 256;        // rows of the gradient that are packed at a time

// Rows [i0, i1) times panels [begin, end) of both products.
template <class T>
void multiply_pair(const Product<T>& p, const Slab<T>& s, const Product<T>& q, const Slab<T>& t, i64 i0, i64 i1,
                   i64 begin, i64 end) {
  constexpr int W = Simd<T>::width;
  const Bands<T> x = take_rows(p, i0, i1, 0, p.k, end - begin), y = take_rows(q, i0, i1, 0, q.k, end - begin);
  for (i64 panel = begin; panel < end; ++panel) {
    const i64 j = panel * Slab<T>::kPanel;
    const int padded = s.padded(panel), tail = W - (padded - s.columns(panel));
    const T* const bias = p.bias ? p.bias + j : nullptr;
    const Far<T> far_x = look_ahead(p, s, x, 0, p.k, panel, begin, end);
    const Far<T> far_y = look_ahead(q, t, y, 0, q.k, panel, begin, end);
    T* c = p.c + i0 * p.n + j;
    const T *a = x.data, *a2 = y.data;
    for (i64 band = 0; band < x.count; ++band) {
      const int height = x.height(band);
      const T *next = a + height * x.row_stride, *next2 = a2 + height * y.row_stride;
      T* const next_c = c + height * p.n;
      if (band + 1 < x.count) fetch_rows(next_c, p.n, x.height(band + 1));
      const Second<T> second{q.k, a2, y.lda, t.data(panel), padded, {next2, far_y.data + far_y.share * band, far_y.pace}};
      pick_tile<T>(height, padded / W, false)(p.k, a, x.lda, s.data(panel), padded, c, p.n,
                                              {bias, false, false, q.relu, &second}, tail,
                                              {next, far_x.data + far_x.share * band, far_x.pace});
      c = next_c, a = next, a2 = next2;
    }
  }
}

template <class T>
void run_pair(const Product<T>& p, const Product<T>& q, bool parallel) {
  static thread_local Scratch scratch;
  const i64 width = ceil_div(p.n, Slab<T>::kPanel) * Slab<T>::kPanel;
  T* const packed = scratch.get<T>(width * (p.k + q.k));
  const Slab<T> s{0, p.n, 0, p.k, false, packed}, t{0, p.n, 0, q.k, false, packed + width * p.k};
  const i64 panels = s.panels();
  for_each(parallel, 2 * panels, 2, [&](i64 part) { pack_part(part % 2 ? q : p, part % 2 ? t : s, part / 2); });
  share_blocks(p, panels, p.m * p.n * (p.k + q.k), parallel, [&](i64 i0, i64 i1, i64 begin, i64 end) {
    multiply_pair(p, s, q, t, i0, i1, begin, end);
  });
}

// Packs the slab's rows of the gradient, as far as y let it pass, and adds them to `sums`.
template <class T>
void pack_passed(const T* g, const T* y, i64 n, const Slab<T>& slab, T* sums) {
  using S = Simd<T>;
  constexpr int W = S::width;
  for (i64 q = 0; q < slab.k; q += kPackRows) {
    const i64 rows = std::min(kPackRows, slab.k - q);
    for (i64 j = 0; j < n; j += W) {
      const i64 panel = j / Slab<T>::kPanel, at = (slab.k0 + q) * n + j;
      const int padded = slab.padded(panel), count = static_cast<int>(std::min<i64>(W, n - j));
      T* out = slab.data(panel) + q * padded + j % Slab<T>::kPanel;
      typename S::V sum = S::load(sums + j, count);
      for (i64 r = 0; r < rows; ++r, out += padded) {
        typename S::V v = S::load(g + at + r * n, count);
        if (y) v = S::passed(v, S::load(y + at + r * n, count));
        S::store(out, v);
        sum = S::add(sum, v);
      }
      S::store(sums + j, sum, count);
    }
  }
}

// One part of the rows: c1, c2 and `sums` receive its share. p and q hold the operands of the part.
template <class T>
void run_part(const Product<T>& p, const Product<T>& q, const T* g, const T* y, T* sums) {
  static thread_local Scratch scratch;
  const i64 width = ceil_div(p.n, Slab<T>::kPanel) * Slab<T>::kPanel;
  const i64 slabs = std::max<i64>(1, (p.k + kPairDepth / 2) / kPairDepth);
  T* const packed = scratch.get<T>(width * ceil_div(p.k, slabs));
  for (i64 j = 0; j < p.n; ++j) sums[j] = T(0);
  for (i64 i = 0; i < slabs; ++i) {
    const i64 k0 = p.k * i / slabs;
    const Slab<T> slab{0, p.n, k0, p.k * (i + 1) / slabs - k0, false, packed};
    pack_passed(g, y, p.n, slab, sums);
    for (const Product<T>* each : {&p, &q}) {
      const i64 blocks = ceil_div(each->m, kBlockRows);
      for (i64 b = 0; b < blocks; ++b) {
        run_block(*each, slab, each->m * b / blocks, each->m * (b + 1) / blocks, 0, slab.panels());
      }
    }
  }
}

// A function of the sizes; a multiple of 4, so that threads get equal shares.
inline i64 pair_parts(i64 rows, i64 n, i64 m) {
  const i64 parts = std::min({i64{32}, m / 1024, (i64{1} << 21) / std::max<i64>(1, rows * n)});
  return parts < 2 ? 1 : (parts + 3) / 4 * 4;
}

// to[n,k] = transposed sum over parts of rows [0, k) at `from`.
template <class T>
void add_parts(T* from, i64 parts, i64 stride, T* to, i64 k, i64 n, bool parallel) {
  constexpr i64 kRows = 64 / sizeof(T);
  parallel_for(ceil_div(k, kRows), parallel ? 1 : ceil_div(k, kRows), [=](i64 first, i64 last) {
    const i64 begin = first * kRows, end = std::min(k, last * kRows);
    for (i64 i = begin; i < end; ++i) {
      T* SKEIN_RESTRICT sum = from + i * n;
      for (i64 part = 1; part < parts; ++part) {
        const T* SKEIN_RESTRICT next = sum + part * stride;
        for (i64 j = 0; j < n; ++j) sum[j] += next[j];
      }
    }
    for (i64 j = 0; j < n; ++j) {
      for (i64 i = begin; i < end; ++i) to[j * k + i] = from[i * n + j];
    }
  });
}

}  // namespace gemm_detail

template <class T>
void gemm_pair(const T* a1, const T* b1, i64 k1, const T* a2, const T* b2, i64 k2, const T* bias, T* c, i64 m, i64 n,
               bool relu) {
  using namespace gemm_detail;
  if (m == 0 || n == 0) return;
  const bool parallel = m * n * (k1 + k2) >= kParallelWork && threads() > 1;
  const Product<T> p{a1, b1, bias, c, m, n, k1, k1, k1, false, true, false, false, false};
  const Product<T> q{a2, b2, nullptr, c, m, n, k2, k2, k2, false, true, true, false, false, relu};
  const i64 panel = (k1 + k2) * Slab<T>::kPanel * static_cast<i64>(sizeof(T));
  // Rows of a are read where they are, which long ones must not be (see take_rows).
  if (k1 > 0 && k2 > 0 && k1 <= kDepth && k2 <= kDepth && panel <= kNearBytes && n <= kPairColumns && m > kRowsWide) {
    run_pair(p, q, parallel);
  } else {
    run(p, parallel);
    run(q, parallel);
  }
}

template <class T>
void gemm_pair_backward(const T* g, const T* y, const T* a1, T* gb1, i64 k1, const T* a2, T* gb2, i64 k2, T* gbias,
                        i64 m, i64 n) {
  using namespace gemm_detail;
  static thread_local Scratch scratch;
  const i64 rows = k1 + k2, stride = (rows + 1) * n, parts = pair_parts(rows, n, m);
  const bool parallel = m * n * rows >= kParallelWork && threads() > 1;
  T* const sums = scratch.get<T>(parts * stride);
  for_each(parallel, parts, 1, [&](i64 part) {
    const i64 k0 = m * part / parts, k = m * (part + 1) / parts - k0;
    T* const c = sums + part * stride;
    const T *gradient = g + k0 * n, *passed = y ? y + k0 * n : nullptr;
    const Product<T> p{a1 + k0 * k1, gradient, nullptr, c, k1, n, k, k1, n, true, false, false, true, false};
    // b is packed already: here it only selects what to prefetch for the next slab, with p's.
    const Product<T> q{a2 + k0 * k2, y ? passed : gradient, nullptr, c + k1 * n, k2, n, k, k2, n, true, false, false, true,
                       false};
    run_part(p, q, gradient, passed, c + rows * n);
  });
  add_parts(sums, parts, stride, gb1, k1, n, parallel);
  add_parts(sums + k1 * n, parts, stride, gb2, k2, n, parallel);
  if (gbias) add_parts(sums + rows * n, parts, stride, gbias, 1, n, false);
}

#define SKEIN_INSTANTIATE(T)                                                                             \
  template void gemm_pair(const T*, const T*, i64, const T*, const T*, i64, const T*, T*, i64, i64, bool); \
  template void gemm_pair_backward(const T*, const T*, const T*, T*, i64, const T*, T*, i64, T*, i64, i64);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
