// The serial middle of the matrix product: a block of rows of a times a packed slab of b, tile by tile.
//
// A panel of b stays in the nearest cache while the rows of a pass by. Nothing here can change a result: tiles carry
// each element's chain through c from one step of k to the next, in order of rising k.
#pragma once

#include "gemm/gemm_micro.h"
#include "gemm/gemm_pack.h"

namespace skein {
namespace gemm_detail {

// Steps of k: the longer, the fewer the visits to c, while a block of rows of a must leave room in the second-level
// cache. Measured best of 192 to 1024, also where a panel of b is then a little larger than the first-level cache.
constexpr i64 kDepth = 512;
constexpr i64 kRowPad = 16;  // keeps copied rows of a off a common cache set

inline i64 ceil_div(i64 x, i64 y) { return (x + y - 1) / y; }

template <class T>
struct Product {
  const T *a, *b, *bias;
  T* c;
  i64 m, n, k;
  i64 lda, ldb;
  bool trans_a, trans_b, accumulate;
  bool part;    // one of the parts of a split k
  bool stream;  // c is written past the caches
  bool relu = false;  // of the finished sums
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
  bool reads_b(i64 panel) const { return in_place && columns(panel) == padded(panel); }
  T* data(i64 panel) const { return packed + (in_place ? 0 : panel * kPanel * k); }
};

// Packs the share of the slab that belongs to task `part` of pack_parts(). b as [k,n] is read a few whole rows at a time,
// b as [n,k] a panel at a time: both are runs of memory.
constexpr i64 kPackRows = 8;

template <class T>
i64 pack_parts(const Product<T>& p, const Slab<T>& slab) {
  return p.trans_b ? slab.panels() : ceil_div(slab.k, kPackRows);
}

template <class T>
void pack_part(const Product<T>& p, const Slab<T>& slab, i64 part) {
  constexpr i64 kPanel = Slab<T>::kPanel;
  if (p.trans_b) {
    pack_b_transposed(p.b + (slab.j0 + part * kPanel) * p.ldb + slab.k0, p.ldb, slab.k, slab.columns(part),
                      slab.padded(part), slab.data(part));
    return;
  }
  const i64 q = part * kPackRows, rows = std::min(kPackRows, slab.k - q);
  for (i64 panel = slab.in_place ? slab.panels() - 1 : 0; panel < slab.panels(); ++panel) {
    if (slab.reads_b(panel)) continue;
    const int padded = slab.padded(panel);
    pack_b_plain(p.b + (slab.k0 + q) * p.ldb + slab.j0 + panel * kPanel, p.ldb, rows, slab.columns(panel), padded,
                 slab.data(panel) + q * padded);
  }
}

// Rows [i0, i0 + rows) of a for one step of k, divided into bands of nearly equal height, one tile high each. Within a
// band, element (r, q) is at r * lda + q, or at q * lda + r if `panel`.
template <class T>
struct Bands {
  i64 i0, rows, count, low, extra;  // the first `extra` bands are low + 1 rows high, the others low
  const T* data;
  i64 lda, row_stride, band_stride;  // a band begins band_stride + height * row_stride after the one before
  bool panel, in_place;

  int height(i64 band) const { return static_cast<int>(low + (band < extra)); }
};

template <class T>
Bands<T> take_rows(const Product<T>& p, i64 i0, i64 i1, i64 k0, i64 k, i64 panels) {
  static thread_local Scratch scratch;
  const i64 rows = i1 - i0, count = ceil_div(rows, p.n <= Simd<T>::width ? kRowsNarrow : kRowsWide);
  Bands<T> s{i0, rows, count, rows / count, rows % count, p.a + i0 * p.lda + k0, p.lda, p.lda, 0, p.trans_a, true};
  if (p.trans_a) {
    s.data = p.a + k0 * p.lda + i0;
    s.row_stride = 1;
    if (panels <= 2) return s;
    const int padded = static_cast<int>(ceil_div(s.height(0), Simd<T>::width) * Simd<T>::width);
    T* out = scratch.get<T>(count * padded * k);
    for (i64 q = 0; q < k; q += kPackRows) {
      const T* from = s.data + q * p.lda;
      for (i64 band = 0; band < count; from += s.height(band), ++band) {
        pack_a_columns(from, p.lda, s.height(band), padded, std::min(kPackRows, k - q), out + (band * k + q) * padded);
      }
    }
    s.data = out;
    s.lda = padded;
    s.row_stride = 0;
    s.band_stride = padded * k;
  } else {
    if (p.lda <= kDepth || panels <= 2) return s;
    T* out = scratch.get<T>(rows * (kDepth + kRowPad));
    pack_a_rows(s.data, p.lda, rows, k, out, kDepth + kRowPad);
    s.data = out;
    s.lda = s.row_stride = kDepth + kRowPad;
  }
  s.in_place = false;
  return s;
}

// Data that the tiles of a panel prefetch, each an equal share of:
//   a part of a split k      the rows of a and b that the next slab will pack: they come from memory, once;
//   a read in place          the task's next rows, for the same reason;
//   else                     the next panel of b, since a slab of b may live in the third-level cache.
template <class T>
struct Far {
  const T* data;
  i64 share, pace;
};

template <class T>
Far<T> look_ahead(const Product<T>& p, const Slab<T>& slab, const Bands<T>& bands, i64 step0, i64 step, i64 panel,
                  i64 begin, i64 end) {
  const i64 pairs = std::max<i64>(1, step / 2), tiles = (end - begin) * bands.count;
  const i64 done = (panel - begin) * bands.count;
  if (p.part && bands.i0 == 0) {
    const i64 next = slab.k0 + slab.k, from_a = slab.k * p.m, share = (from_a + slab.k * p.n) / tiles;
    const i64 at = share * done;
    return {at < from_a ? p.a + next * p.m + at : p.b + next * p.n + at - from_a, share, share / pairs};
  }
  if (bands.in_place && !bands.panel) {
    const i64 share = bands.rows * step / tiles;
    return {bands.data + bands.rows * bands.lda + share * done, share, share / pairs};
  }
  if (slab.in_place || panel + 1 == end) return {bands.data, 0, 0};
  const int padded = slab.padded(panel + 1);
  const i64 share = step * padded / bands.count;
  return {slab.data(panel + 1) + step0 * padded, share, share / pairs};
}

// Rows of c that are far apart are fetched a tile ahead; the hardware sees narrow ones coming by itself. One line a
// row: a burst of more than the outstanding misses a core can hold would stall it, and lines are fetched in pairs.
template <class T>
inline void fetch_rows(const T* c, i64 ldc, int rows) {
  if (ldc <= Slab<T>::kPanel) return;
  for (int r = 0; r < rows; ++r, c += ldc) __builtin_prefetch(c, 1);
}

// One step of k for one task: every tile of rows x panels [begin, end).
template <class T>
void multiply(const Product<T>& p, const Slab<T>& slab, const Bands<T>& bands, i64 step0, i64 step, i64 begin,
              i64 end) {
  constexpr int W = Simd<T>::width;
  const bool first = slab.k0 + step0 == 0, relu = p.relu && slab.k0 + step0 + step == p.k;
  for (i64 panel = begin; panel < end; ++panel) {
    const i64 j = slab.j0 + panel * Slab<T>::kPanel;
    const int padded = slab.padded(panel), tail = W - (padded - slab.columns(panel));
    const bool direct = slab.reads_b(panel);
    const i64 ldb = direct ? p.ldb : padded;
    const T* b = direct ? p.b + (slab.k0 + step0) * p.ldb + j : slab.data(panel) + step0 * padded;
    const Ends<T> ends{first && p.bias ? p.bias + j : nullptr, !first || p.accumulate, p.stream, relu};
    const Far<T> far = look_ahead(p, slab, bands, step0, step, panel, begin, end);
    T* c = p.c + bands.i0 * p.n + j;
    const T* a = bands.data;
    for (i64 band = 0; band < bands.count; ++band) {
      const int height = bands.height(band);
      T* const next_c = c + height * p.n;
      const T* const next_a = a + bands.band_stride + height * bands.row_stride;
      if (!p.stream && band + 1 < bands.count) fetch_rows(next_c, p.n, bands.height(band + 1));
      pick_tile<T>(height, padded / W, bands.panel)(step, a, bands.lda, b, ldb, c, p.n, ends, tail,
                                                    {next_a, far.data + far.share * band, far.pace});
      c = next_c;
      a = next_a;
    }
  }
}

// Rows [i0, i1) times panels [begin, end) over the whole depth of the slab.
template <class T>
void run_block(const Product<T>& p, const Slab<T>& slab, i64 i0, i64 i1, i64 begin, i64 end) {
  const i64 steps = std::max<i64>(1, ceil_div(slab.k, kDepth));
  for (i64 s = 0; s < steps; ++s) {
    const i64 step0 = slab.k * s / steps, step = slab.k * (s + 1) / steps - step0;
    multiply(p, slab, take_rows(p, i0, i1, slab.k0 + step0, step, end - begin), step0, step, begin, end);
  }
}

}  // namespace gemm_detail
}  // namespace skein
