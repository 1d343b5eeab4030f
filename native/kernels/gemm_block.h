// The serial middle of the matrix product: a block of rows of a times a packed slab of b, tile by tile.
//
// A panel of b stays in the nearest cache while the rows of a pass by. Nothing here can change a result: tiles carry
// each element's chain through c from one step of k to the next, in order of rising k.
#pragma once

#include "gemm_micro.h"
#include "gemm_pack.h"

namespace skein {
namespace gemm_detail {

// Steps of k: the longer, the fewer the visits to c; the panel of b and the rows of a still fit in the second-level
// cache with room for prefetching.
template <class T>
constexpr i64 kDepth = 2048 / sizeof(T);

constexpr i64 kRowPad = 16;  // keeps copied rows of a off a common cache set

inline i64 ceil_div(i64 x, i64 y) { return (x + y - 1) / y; }

template <class T>
struct Product {
  const T *a, *b, *bias;
  T* c;
  i64 m, n, k;
  i64 lda, ldb;
  bool trans_a, trans_b, accumulate, stream;
};

// A slab of b: columns [j0, j0 + n), k in [k0, k0 + k), packed panel after panel; in place, only a last panel that
// is not full is packed.
template <class T>
struct Slab {
  static constexpr i64 kPanel = 2 * Simd<T>::width;
  i64 j0, n, k0, k;
  bool in_place;
  T* packed;

  i64 panels() const { return ceil_div(n, kPanel); }
  int columns(i64 panel) const { return static_cast<int>(std::min(kPanel, n - panel * kPanel)); }
  int padded(i64 panel) const { return columns(panel) > Simd<T>::width ? kPanel : Simd<T>::width; }
  bool reads_b(i64 panel) const { return in_place && columns(panel) == kPanel; }
  T* data(i64 panel) const { return packed + (in_place ? 0 : panel * kPanel * k); }
};

template <class T>
void pack_panel(const Product<T>& p, const Slab<T>& slab, i64 panel) {
  if (slab.reads_b(panel)) return;
  const i64 j = slab.j0 + panel * Slab<T>::kPanel;
  if (p.trans_b) {
    pack_b_transposed(p.b + j * p.ldb + slab.k0, p.ldb, slab.k, slab.columns(panel), slab.padded(panel),
                      slab.data(panel));
  } else {
    pack_b_plain(p.b + slab.k0 * p.ldb + j, p.ldb, slab.k, slab.columns(panel), slab.padded(panel),
                 slab.data(panel));
  }
}

// Rows [i0, i0 + rows) of a for one step of k, cut into bands of nearly equal height, one tile high each.
template <class T>
struct Bands {
  i64 i0, rows, count;
  const T* data;
  i64 lda;
  bool in_place;
  bool panel;  // packed as [k][rows of the band], bands one after another

  i64 begin(i64 band) const { return rows * band / count; }
  int height(i64 band) const { return static_cast<int>(begin(band + 1) - begin(band)); }
};

template <class T>
Bands<T> take_rows(const Product<T>& p, i64 i0, i64 i1, i64 k0, i64 k, i64 panels) {
  static thread_local Scratch scratch;
  const int highest = p.n <= Simd<T>::width ? kRowsNarrow : kRowsWide;
  Bands<T> s{i0, i1 - i0, ceil_div(i1 - i0, highest), nullptr, p.lda, false, p.trans_a};
  if (p.trans_a) {
    T* out = scratch.get<T>(s.rows * k);
    for (i64 band = 0; band < s.count; ++band) {
      pack_a_columns(p.a + k0 * p.lda + i0 + s.begin(band), p.lda, s.height(band), k, out + s.begin(band) * k);
    }
    s.data = out;
  } else if (p.lda > kDepth<T> && panels > 2) {
    s.lda = kDepth<T> + kRowPad;
    T* out = scratch.get<T>(s.rows * s.lda);
    pack_a_rows(p.a + i0 * p.lda + k0, p.lda, s.rows, k, out, s.lda);
    s.data = out;
  } else {
    s.data = p.a + i0 * p.lda + k0;
    s.in_place = true;
  }
  return s;
}

// What to fetch during a tile: the next band, and a share of either the task's next rows (a read in place comes from
// memory, so it is spread over all tiles) or the next panel of b (a slab of b may live in the third-level cache).
template <class T>
Ahead<T> look_ahead(const Slab<T>& slab, const Bands<T>& bands, const T* next_band, i64 step0, i64 step, i64 panel,
                    i64 band, i64 begin, i64 end) {
  const i64 pairs = std::max<i64>(1, step / 2);
  if (bands.in_place) {
    const i64 share = bands.rows * step / ((end - begin) * bands.count);
    const i64 done = (panel - begin) * bands.count + band;
    return {next_band, bands.data + bands.rows * bands.lda + share * done, share / pairs};
  }
  if (slab.in_place || panel + 1 == end) return {next_band, next_band, 0};
  const i64 share = step * slab.padded(panel + 1) / bands.count;
  return {next_band, slab.data(panel + 1) + step0 * slab.padded(panel + 1) + share * band, share / pairs};
}

// One step of k for one task: every tile of rows x panels [begin, end).
template <class T>
void multiply(const Product<T>& p, const Slab<T>& slab, const Bands<T>& bands, i64 step0, i64 step, i64 begin,
              i64 end) {
  constexpr int W = Simd<T>::width;
  const bool first = slab.k0 + step0 == 0;
  for (i64 panel = begin; panel < end; ++panel) {
    const i64 j = slab.j0 + panel * Slab<T>::kPanel;
    const int padded = slab.padded(panel), tail = W - (padded - slab.columns(panel));
    const bool direct = slab.reads_b(panel);
    const i64 ldb = direct ? p.ldb : padded;
    const T* b = direct ? p.b + (slab.k0 + step0) * p.ldb + j : slab.data(panel) + step0 * padded;
    const Ends<T> ends{first && p.bias ? p.bias + j : nullptr, !first || p.accumulate, p.stream};
    for (i64 band = 0; band < bands.count; ++band) {
      const i64 r = bands.begin(band);
      const int height = bands.height(band);
      const i64 stride = bands.panel ? step : bands.lda;
      const T* a = bands.data + r * stride;
      T* c = p.c + (bands.i0 + r) * p.n + j;
      if (!p.stream && band + 1 < bands.count) {
        for (T *q = c + height * p.n, *stop = q + bands.height(band + 1) * p.n; q < stop; q += p.n) {
          __builtin_prefetch(q, 1);
          __builtin_prefetch(q + slab.columns(panel) - 1, 1);
        }
      }
      const Ahead<T> next = look_ahead(slab, bands, a + height * stride, step0, step, panel, band, begin, end);
      pick_tile<T>(height, padded / W, bands.panel)(step, a, bands.panel ? height : bands.lda, b, ldb, c, p.n, ends,
                                                    tail, next);
    }
  }
}

// Rows [i0, i1) times panels [begin, end) over the whole depth of the slab.
template <class T>
void run_block(const Product<T>& p, const Slab<T>& slab, i64 i0, i64 i1, i64 begin, i64 end) {
  const i64 steps = std::max<i64>(1, ceil_div(slab.k, kDepth<T>));
  for (i64 s = 0; s < steps; ++s) {
    const i64 step0 = slab.k * s / steps, step = slab.k * (s + 1) / steps - step0;
    multiply(p, slab, take_rows(p, i0, i1, slab.k0 + step0, step, end - begin), step0, step, begin, end);
  }
}

}  // namespace gemm_detail
}  // namespace skein
