// Packed matrix product: blocking, work sharing and the split over k.
//
// Loops, outermost first (after Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008):
//   columns in slices, k in slabs   so that a packed slab of b takes at most kSlabBytes, then packed by all threads;
//   tasks                           blocks of rows, and groups of columns when rows alone give too few tasks;
//   k in steps of kDepth            a panel of b (kDepth x 2 vectors) stays in the nearest caches,
//   panels, then bands of rows      while the task's rows of a come from the second level: one register tile each.
//
// Row invariance: c[i,j] is one chain of fused multiply-adds with rising k, begun at its start value and carried
// through c between steps. Blocking, tails and threads choose only which tile holds a chain, never its order.
// The one exception is a transposed a with a long k and a small c (weight gradients): k is then split at boundaries
// that depend on the sizes alone, and the partial sums are added in order.
#include "gemm/gemm.h"

#include "gemm/gemm_tasks.h"

namespace skein {
namespace gemm_detail {

constexpr i64 kSliceColumns = 1024;
constexpr i64 kSlabBytes = i64{1} << 22;
constexpr i64 kPartDepth = 256;               // depth of a slab in one part of a split k: private to a thread
constexpr i64 kDirectBytes = i64{1} << 15;    // a b of this size is read in place when few rows use it

template <class T>
void run_slab(const Product<T>& p, const Slab<T>& slab, bool parallel) {
  const i64 panels = slab.panels(), team = parallel ? threads() : 1;
  const bool share = parallel && !slab.in_place;
  const i64 grain = share ? std::max<i64>(1, pack_parts(p, slab) / (4 * team)) : 0;
  for_each(share, pack_parts(p, slab), grain, [&](i64 part) { pack_part(p, slab, part); });

  share_blocks(p, panels, p.m * p.n * slab.k, parallel, [&](i64 i0, i64 i1, i64 begin, i64 end) {
    run_block(p, slab, i0, i1, begin, end);
  });
}

template <class T>
void run_product(Product<T> p, bool parallel) {
  static thread_local Scratch scratch;
  constexpr i64 size = sizeof(T);
  const bool in_place = !p.trans_b && (p.m <= kRowsWide || (p.m <= 4 * kRowsWide && p.k * p.n * size <= kDirectBytes));
  const i64 slices = ceil_div(p.n, kSliceColumns);
  const i64 width = ceil_div(ceil_div(p.n, slices), Slab<T>::kPanel) * Slab<T>::kPanel;
  const i64 fit = std::max<i64>(1, kSlabBytes / size / width / kDepth) * kDepth;
  const i64 depth = std::max<i64>(1, std::min(p.k, p.part ? kPartDepth : fit));
  p.stream = !p.accumulate && p.k <= kDepth && may_stream(p);
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

// Number of parts that k is split into: a function of the sizes, so that the bits do not depend on the threads. All parts
// together take at most 2^21 elements of scratch.
inline i64 parts_of(i64 m, i64 n, i64 k, bool trans_a) {
  if (!trans_a || m * n > 512 * 512) return 1;
  return std::max<i64>(1, std::min({i64{32}, k / 1024, (i64{1} << 21) / (m * n)}));
}

// k in parts, each a separate product into scratch, then c = start + (part 0 + part 1 + ...).
template <class T>
void run_parts(const Product<T>& p, i64 parts, bool parallel) {
  static thread_local Scratch scratch;
  const i64 size = p.m * p.n;
  T* const sums = scratch.get<T>(parts * size);
  for_each(parallel, parts, 1, [&](i64 part) {
    const i64 k0 = p.k * part / parts, k1 = p.k * (part + 1) / parts;
    Product<T> q = p;
    q.a += k0 * (p.trans_a ? p.lda : 1);
    q.b += k0 * (p.trans_b ? 1 : p.ldb);
    q.bias = nullptr;
    q.c = sums + part * size;
    q.k = k1 - k0;
    q.accumulate = false;
    q.part = !p.trans_b;
    run_product(q, false);
  });
  for_each(parallel && size > kElementGrain / 4, p.m, 16, [&](i64 i) {
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

template void run(const Product<float>&, bool);
template void run(const Product<double>&, bool);

}  // namespace gemm_detail

template <class T>
void gemm(const T* a, const T* b, const T* bias, T* c, i64 m, i64 n, i64 k, bool trans_a, bool trans_b,
          bool accumulate) {
  const gemm_detail::Product<T> p{a, b, bias, c, m, n, k, trans_a ? m : k, trans_b ? k : n,
                                  trans_a, trans_b, accumulate, false, false};
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
                                      trans_a ? m : k, trans_b ? k : n, trans_a, trans_b, accumulate, false, false};
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
