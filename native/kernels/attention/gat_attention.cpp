// gatAttention and its gradient, in chunks of rows.
//
// Scores are few compared with the features they weigh: those of a chunk wait in a buffer of the thread, so that the largest of
// a row is known before its exponentials, the exponentials of all rows are computed together, and the features are
// read once.
#include "attention/gat_attention.h"

#include <vector>

#include "sparse/entry_dots.h"
#include "attention/gat_scores.h"
#include "sparse/spmm_sum.h"

namespace skein {
namespace {

// The attention of the entries of rows from … to − 1 (dropout applied) in weights, and lse of the rows.
template <int H, class T>
void attend(const GatScores<T>& scores, const AttentionMask<T>& mask, const Offsets& offsets, T* lse, T* weights, T* totals,
            i64 from, i64 to) {
  const i64 heads = scores.heads, first = offsets[from];
  const i64 n = (offsets[to] - first) * heads;
  for (i64 r = from; r < to; ++r) {
    scores.template sums<H>(r, offsets[r], offsets[r + 1], weights + (offsets[r] - first) * heads);
  }
  scores.leaky(weights, n, weights);
  for (i64 r = from; r < to; ++r) {
    T* row = weights + (offsets[r] - first) * heads;
    const i64 entries = offsets[r + 1] - offsets[r];
    head_max<H>(row, entries, heads, lse + r * heads);
    head_map<H>(row, entries, heads, lse + r * heads, row, [](auto& s, const auto& top) { s -= top; });
  }
  exp_all(weights, n);
  for (i64 r = from; r < to; ++r) {
    T* row = weights + (offsets[r] - first) * heads;
    T* total = totals + (r - from) * heads;
    const i64 entries = offsets[r + 1] - offsets[r];
    head_sum<H>(row, entries, heads, total);
    head_map<H>(row, entries, heads, total, row, [](auto& s, const auto& sum) { s /= sum; });
    if (entries > 0) continue;
    for (i64 h = 0; h < heads; ++h) {
      total[h] = T(1);
      lse[r * heads + h] = T(0);
    }
  }
  for (i64 i = 0; i < (to - from) * heads; ++i) lse[from * heads + i] += vm::log(totals[i]);
  mask.apply(first, offsets[to] - first, weights, nullptr);
}

}  // namespace

template <class T>
void gat_attention(const T* z, const T* el, const T* er, const T* ee, Offsets offsets, const i32* indices,
                   const i32* ids, const u32* key, double drop, T* y, T* lse, i64 rows, i64 heads, i64 width, double slope) {
  const i64 all = heads * width;
  if (rows <= 0 || all <= 0) return;
  const GatScores<T> scores{el, er, ee, indices, heads, offsets[rows], static_cast<T>(slope)};
  const AttentionMask<T> mask(key, ids, heads, drop);
  const auto column_of = feature_columns(all, heads);
  const GatheredRows<T> in(z, indices, all, offsets[rows]);
  const bool past = streamed(y, rows, all);
  const RowSums<T> out{y, nullptr, 0, 0, false, false, false, past};
  for_rows(offsets, rows, entry_grain(all * i64{sizeof(T)}), [&](i64 from, i64 to) {
    thread_local std::vector<T> weights, totals;
    weights.resize(static_cast<std::size_t>((offsets[to] - offsets[from]) * heads));
    totals.resize(static_cast<std::size_t>((to - from) * heads));
    with_heads(heads, [&](auto h) {
      attend<h.value>(scores, mask, offsets, lse, weights.data(), totals.data(), from, to);
    });
    const EdgeWeights<T> shares{weights.data(), nullptr, nullptr, heads, column_of.data(), offsets[from]};
    sum_gathered_rows(in, shares, out, offsets, from, to);
    if (past) stream_end();
  });
}

namespace {

// For the entries of a chunk: el + er + ee and gy · z, [entries, heads]; for a row: gy · y.
template <class T>
struct ChunkBuffers {
  std::vector<T> sums, dots, common;
  void resize(i64 entries, i64 heads) {
    sums.resize(static_cast<std::size_t>(entries * heads));
    dots.resize(static_cast<std::size_t>(entries * heads));
    common.resize(static_cast<std::size_t>(heads));
  }
};

template <class T>
struct GatBackward {
  const T* z;
  const T* y;
  const T* lse;
  const T* gy;
  T* attention;
  T* gscore;
  i64 width;

  // to[p - begin, h] = own · z of the other end, head by head.
  void products(const GatScores<T>& scores, EntryDots<T>& dot, i64 begin, i64 end, const T* own, T* to) const {
    const i64 all = scores.heads * width, bytes = all * i64{sizeof(T)}, ahead = rows_ahead(bytes);
    for (i64 p = begin; p < end; ++p, to += scores.heads) {
      if (p + ahead < scores.end) fetch_bytes<0>(z + scores.indices[p + ahead] * all, bytes);
      const T* row = z + scores.indices[p] * all;
      dot(product_of(row, own), to);
    }
  }

  template <int H>
  void chunk(const GatScores<T>& scores, const AttentionMask<T>& mask, const Offsets& offsets, ChunkBuffers<T>& buffers,
             i64 from, i64 to) const {
    const i64 heads = scores.heads, all = heads * width, first = offsets[from];
    const i64 n = (offsets[to] - first) * heads;
    buffers.resize(offsets[to] - first, heads);
    T* SKEIN_RESTRICT sums = buffers.sums.data();
    T* SKEIN_RESTRICT dots = buffers.dots.data();
    T* SKEIN_RESTRICT alpha = attention + first * heads;
    T* SKEIN_RESTRICT g = gscore + first * heads;
    EntryDots<T> dot(heads, width);
    for (i64 r = from; r < to; ++r) {
      scores.template sums<H>(r, offsets[r], offsets[r + 1], sums + (offsets[r] - first) * heads);
    }
    scores.leaky(sums, n, alpha);
    for (i64 r = from; r < to; ++r) {
      const i64 at = (offsets[r] - first) * heads, entries = offsets[r + 1] - offsets[r];
      head_map<H>(alpha + at, entries, heads, lse + r * heads, alpha + at, [](auto& s, const auto& total) { s -= total; });
      products(scores, dot, offsets[r], offsets[r + 1], gy + r * all, dots + at);
    }
    exp_all(alpha, n);
    const T slope = scores.slope;
    for (i64 i = 0; i < n; ++i) g[i] = alpha[i] * (sums[i] > T(0) ? T(1) : slope);
    mask.apply(first, offsets[to] - first, dots, alpha);
    for (i64 r = from; r < to; ++r) {
      const i64 at = (offsets[r] - first) * heads, entries = offsets[r + 1] - offsets[r];
      T* common = buffers.common.data();
      dot(product_of(gy + r * all, y + r * all), common);
      head_map<H>(dots + at, entries, heads, common, dots + at, [](auto& d, const auto& shared) { d -= shared; });
    }
    for (i64 i = 0; i < n; ++i) g[i] *= dots[i];
  }
};

}  // namespace

template <class T>
void gat_attention_backward(const T* z, const T* el, const T* er, const T* ee, const T* y, const T* lse, const T* gy,
                            Offsets offsets, const i32* indices, const i32* ids, const u32* key, double drop, T* attention,
                            T* gscore, i64 rows, i64 heads, i64 width, double slope) {
  const i64 all = heads * width;
  if (rows <= 0 || all <= 0) return;
  const GatScores<T> scores{el, er, ee, indices, heads, offsets[rows], static_cast<T>(slope)};
  const AttentionMask<T> mask(key, ids, heads, drop);
  const GatBackward<T> backward{z, y, lse, gy, attention, gscore, width};
  for_rows(offsets, rows, entry_grain(all * i64{sizeof(T)}), [&](i64 from, i64 to) {
    thread_local ChunkBuffers<T> buffers;
    with_heads(heads, [&](auto h) { backward.template chunk<h.value>(scores, mask, offsets, buffers, from, to); });
  });
}

#define SKEIN_INSTANTIATE(T)                                                                                          \
  template void gat_attention(const T*, const T*, const T*, const T*, Offsets, const i32*, const i32*, const u32*, double, \
                              T*, T*, i64, i64, i64, double);                                                         \
  template void gat_attention_backward(const T*, const T*, const T*, const T*, const T*, const T*, const T*, Offsets,  \
                                       const i32*, const i32*, const u32*, double, T*, T*, i64, i64, i64, double);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)

}  // namespace skein
