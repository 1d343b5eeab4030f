// Packed matrix product: blocking, work sharing and the split over k.
//
// Loops, outermost first (after Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008):
//   columns in slices, k in slabs   so that a packed piece of b takes at most kSlabBytes, then packed by all threads;
//   tasks                           blocks of rows, and groups of columns when rows alone give too few tasks;
//   k in steps of kDepth            a panel of b (kDepth x 2 vectors) stays in the first-level cache,
//   panels, then bands of rows      while the task's rows of a come from the second level: one register tile each.
//
// Row invariance: c[i,j] is one chain of fused multiply-adds with rising k, begun at its start value and carried
// through c between steps. Blocking, tails and threads choose only which tile holds a chain, never its order.
// The one exception is a transposed a with a long k and a small c (weight gradients): k is then cut at boundaries
// that depend on the sizes alone, and the parts are added in order.
#include "gemm.h"

#include "gemm_micro.h"
#include "gemm_pack.h"

namespace skein {
namespace gemm_detail {

#if defined(__AVX512F__)
#ifndef KD
#define KD 256
#define MB 8
#endif
constexpr i64 kDepth = KD;
constexpr i64 kBlockRows = MB * kRowsWide;
#else
#ifndef KD2
#define KD2 384
#define MB2 16
#endif
constexpr i64 kDepth = KD2;
constexpr i64 kBlockRows = MB2 * kRowsWide;
#endif
#ifndef SC
#define SC 1024
#endif
constexpr i64 kSliceColumns = SC;
#ifndef SB
#define SB 22
#endif
constexpr i64 kSlabBytes = i64{1} << SB;
constexpr i64 kParallelWork = i64{1} << 20;  // m * n * k below which a second thread costs more than it gives
constexpr i64 kDirectBytes = i64{1} << 15;   // a b of this size is read in place when few rows use it
constexpr i64 kRowPad = 16;                  // keeps copied rows of a off a common cache set

inline i64 ceil_div(i64 x, i64 y) { return (x + y - 1) / y; }

template <class F>
void for_each(bool parallel, i64 n, F&& f) {
  const auto run = [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) f(i);
  };
  if (parallel) {
    parallel_for(n, 1, run);
  } else {
    run(0, n);
  }
}

template <class T>
struct Product {
  const T *a, *b, *bias;
  T* c;
  i64 m, n, k;
  i64 lda, ldb;
  bool trans_a, trans_b, accumulate;
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

// Rows [i0, i1) of a for one step of k, cut into bands of nearly equal height, one tile high each.
template <class T>
struct Bands {
  i64 i0, rows, count;
  const T* data;
  i64 lda;
  bool copied;
  bool panel;  // packed as [k][rows of the band], bands one after another

  i64 begin(i64 band) const { return rows * band / count; }
  int height(i64 band) const { return static_cast<int>(begin(band + 1) - begin(band)); }
};

template <class T>
Bands<T> take_rows(const Product<T>& p, i64 i0, i64 i1, i64 k0, i64 k, i64 panels) {
  static thread_local Scratch scratch;
  const int highest = p.n <= Simd<T>::width ? kRowsNarrow : kRowsWide;
  Bands<T> s{i0, i1 - i0, ceil_div(i1 - i0, highest), nullptr, p.lda, true, p.trans_a};
  if (p.trans_a) {
    T* out = scratch.get<T>(s.rows * k);
    for (i64 band = 0; band < s.count; ++band) {
      pack_a_columns(p.a + k0 * p.lda + i0 + s.begin(band), p.lda, s.height(band), k, out + s.begin(band) * k);
    }
    s.data = out;
  } else if (p.lda > 2 * kDepth && panels > 2) {
    s.lda = kDepth + kRowPad;
    T* out = scratch.get<T>(s.rows * s.lda);
    pack_a_rows(p.a + i0 * p.lda + k0, p.lda, s.rows, k, out, s.lda);
    s.data = out;
  } else {
    s.data = p.a + i0 * p.lda + k0;
    s.copied = false;
  }
  return s;
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
    const Start<T> start{first && p.bias ? p.bias + j : nullptr, !first || p.accumulate};
    for (i64 band = 0; band < bands.count; ++band) {
      const i64 r = bands.begin(band);
      const int height = bands.height(band);
      const T* a = bands.data + r * (bands.panel ? step : bands.lda);
      const i64 lda = bands.panel ? height : bands.lda;
      Ahead<T> next{a + height * (bands.panel ? step : bands.lda), b, 0};
#ifndef NONB
      if (!bands.copied) {
        const i64 share = bands.rows * step / ((end - begin) * bands.count);
        next.b = bands.data + bands.rows * bands.lda + share * ((panel - begin) * bands.count + band);
        next.b_stride = share / std::max<i64>(1, step / 2);
      } else
#endif
      if (!direct && panel + 1 < end) {
        const i64 share = step * padded / bands.count;
        next.b = slab.data(panel + 1) + step0 * padded + share * band;
        next.b_stride = share / std::max<i64>(1, step / 2);
      }
#ifndef NOPFC
      if (band + 1 < bands.count) {
        const T* nc = p.c + (bands.i0 + r + height) * p.n + j;
        for (int q = 0; q < bands.height(band + 1); ++q) {
          __builtin_prefetch(nc + q * p.n, 1);
          __builtin_prefetch(nc + q * p.n + padded - 1, 1);
        }
      }
#endif
      pick_tile<T>(height, padded / W, bands.panel)(step, a, lda, b, ldb, p.c + (bands.i0 + r) * p.n + j, p.n, start,
                                                    tail, next);
    }
  }
}

template <class T>
void run_slab(const Product<T>& p, const Slab<T>& slab, bool parallel) {
  const i64 panels = slab.panels(), team = parallel ? threads() : 1;
  for_each(parallel && !slab.in_place, panels, [&](i64 panel) { pack_panel(p, slab, panel); });

  // As many blocks of rows as fill the team evenly; columns are cut only if the rows are too few.
  i64 blocks = ceil_div(p.m, kBlockRows), groups = 1;
  if (team > 1) {
    blocks = std::max(blocks, std::min(4 * team, ceil_div(p.m, 2 * kRowsWide)));
    if (blocks >= team) blocks = ceil_div(blocks, team) * team;
    groups = std::min(panels, ceil_div(4 * team, blocks));
  }
#ifndef NONB
  const i64 run = std::max<i64>(1, std::min<i64>(8, blocks / (4 * team)));
#else
  const i64 run = 1;
#endif
  const i64 steps = std::max<i64>(1, ceil_div(slab.k, kDepth));
  for_each(parallel, ceil_div(blocks, run) * groups, [&](i64 task) {
    const i64 group = task % groups;
    for (i64 block = task / groups * run; block < std::min(blocks, (task / groups + 1) * run); ++block) {
    const i64 i0 = p.m * block / blocks, i1 = p.m * (block + 1) / blocks;
    const i64 begin = panels * group / groups, end = panels * (group + 1) / groups;
    if (i0 == i1) continue;
    for (i64 s = 0; s < steps; ++s) {
      const i64 step0 = slab.k * s / steps, step = slab.k * (s + 1) / steps - step0;
      multiply(p, slab, take_rows(p, i0, i1, slab.k0 + step0, step, end - begin), step0, step, begin, end);
    }
    }
  });
}

template <class T>
void run_product(const Product<T>& p, bool parallel) {
  static thread_local Scratch scratch;
  const bool in_place =
      !p.trans_b && p.m <= 4 * kRowsWide && p.k * p.n * static_cast<i64>(sizeof(T)) <= kDirectBytes;
  const i64 slices = ceil_div(p.n, kSliceColumns);
  const i64 width = ceil_div(ceil_div(p.n, slices), Slab<T>::kPanel) * Slab<T>::kPanel;
  const i64 fit = kSlabBytes / static_cast<i64>(sizeof(T)) / width;
  const i64 depth = std::max<i64>(1, std::min(p.k, std::max(fit / kDepth, i64{1}) * kDepth));
  T* packed = scratch.get<T>(in_place ? Slab<T>::kPanel * depth : width * depth);
  for (i64 j = 0; j < p.n; j += width) {
    i64 q = 0;
    do {  // once even if k is 0: the start value must be written
      const Slab<T> slab{j, std::min(width, p.n - j), q, std::min(depth, p.k - q), in_place, packed};
      run_slab(p, slab, parallel);
      q += depth;
    } while (q < p.k);
  }
}

// How many parts k is cut into: a function of the sizes, so that the bits do not depend on the threads.
inline i64 parts_of(i64 m, i64 n, i64 k, bool trans_a) {
  if (!trans_a || m * n > 512 * 512) return 1;
  return std::max<i64>(1, std::min<i64>(32, k / 1024));
}

// k in parts, each a product of its own into scratch, then c = start + (part 0 + part 1 + ...).
template <class T>
void run_parts(const Product<T>& p, i64 parts, bool parallel) {
  static thread_local Scratch scratch;
  const i64 size = p.m * p.n;
  T* const sums = scratch.get<T>(parts * size);
  for_each(parallel, parts, [&](i64 part) {
    const i64 k0 = p.k * part / parts, k1 = p.k * (part + 1) / parts;
    Product<T> q = p;
    q.a += k0 * (p.trans_a ? p.lda : 1);
    q.b += k0 * (p.trans_b ? 1 : p.ldb);
    q.bias = nullptr;
    q.c = sums + part * size;
    q.k = k1 - k0;
    q.accumulate = false;
    run_product(q, false);
  });
  for_each(parallel && size > kElementGrain / 4, p.m, [&](i64 i) {
    T *c = p.c + i * p.n, *sum = sums + i * p.n;
    for (i64 part = 1; part < parts; ++part) {
      const T* next = sum + part * size;
      for (i64 j = 0; j < p.n; ++j) sum[j] += next[j];
    }
    for (i64 j = 0; j < p.n; ++j) {
      const T start = (p.accumulate ? c[j] : T(0)) + (p.bias ? p.bias[j] : T(0));
      c[j] = start + sum[j];
    }
  });
}

template <class T>
void run(const Product<T>& p, bool parallel) {
  if (p.m == 0 || p.n == 0) return;
  const i64 parts = parts_of(p.m, p.n, p.k, p.trans_a);
  if (parts > 1) {
    run_parts(p, parts, parallel);
  } else {
    run_product(p, parallel);
  }
}

}  // namespace gemm_detail

template <class T>
void gemm(const T* a, const T* b, const T* bias, T* c, i64 m, i64 n, i64 k, bool trans_a, bool trans_b,
          bool accumulate) {
  const gemm_detail::Product<T> p{a, b, bias, c, m, n, k, trans_a ? m : k, trans_b ? k : n,
                                  trans_a, trans_b, accumulate};
  gemm_detail::run(p, m * n * k >= gemm_detail::kParallelWork && threads() > 1);
}

template <class T>
void gemm_batched(const T* a, const T* b, T* c, i64 batch, i64 m, i64 n, i64 k, bool trans_a, bool trans_b,
                  bool accumulate) {
  using gemm_detail::kParallelWork;
  const i64 work = m * n * k;
  if (batch < 2 * threads() && work >= kParallelWork) {  // few large products: share each one
    for (i64 i = 0; i < batch; ++i) {
      gemm<T>(a + i * m * k, b + i * k * n, nullptr, c + i * m * n, m, n, k, trans_a, trans_b, accumulate);
    }
    return;
  }
  const auto items = [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      const gemm_detail::Product<T> p{a + i * m * k, b + i * k * n, nullptr, c + i * m * n, m, n, k,
                                      trans_a ? m : k, trans_b ? k : n, trans_a, trans_b, accumulate};
      gemm_detail::run(p, false);
    }
  };
  parallel_for(batch, std::max<i64>(1, kParallelWork / 2 / std::max<i64>(work, 1)), items);
}

template void gemm(const float*, const float*, const float*, float*, i64, i64, i64, bool, bool, bool);
template void gemm(const double*, const double*, const double*, double*, i64, i64, i64, bool, bool, bool);
template void gemm_batched(const float*, const float*, float*, i64, i64, i64, i64, bool, bool, bool);
template void gemm_batched(const double*, const double*, double*, i64, i64, i64, i64, bool, bool, bool);

}  // namespace skein
