// A sub-batch of queries against all rows of a table, tile by tile of the table (query_tiles.h).
//
// Softmax needs two passes. The first computes the scores of a tile, and stores their exponentials below the tile's maximum, once;
// maxima and sums of all tiles give each query's factors. The second reads a tile's exponentials, makes the gradient G by the
// scores in the cache, and takes both products from there: dE[tile] = Gᵀ · Q, complete, and dQ += G · E[tile], in a buffer for each
// group of tiles; the buffers are added in order. The other kinds know G at once: their scores never leave the cache.
#pragma once

#include "score/query_tiles.h"

namespace skein {
namespace score_detail {

template <class T>
class QueryBatch {
 public:
  QueryBatch(const QueryArguments<T>& a, const Tiling& tiling, i64 first, i64 queries, const i32* answer_offsets,
             const i32* answers, const i32* known_offsets, const i32* known)
      : a_(a), tiling_(tiling), first_(first), m_(queries), offsets_(answer_offsets + first),
        answers_(tiling, offsets_, answers, queries),
        known_(tiling, known_offsets ? known_offsets + first : nullptr, known, queries),
        picked_(offsets_[queries] - offsets_[0]), rest_(tiling.tiles * queries) {}

  void run() {
    static thread_local gemm_detail::Scratch stored, panels;
    const bool two_passes = a_.kind == QueryKind::softmax || a_.kind == QueryKind::masked_softmax;
    if (a_.g_table) pack_queries(panels);
    if (two_passes) {
      top_.resize(tiling_.tiles * m_);
      total_.resize(tiling_.tiles * m_);
      if (a_.gradient()) stored_ = stored.get<T>(tiling_.tiles * m_ * tiling_.size);
      parallel_for(tiling_.tiles, 1, [&](i64 tile, i64) {
        with_work([&](TileWork<T>& w) { soften_tile(w, tile); });
      }, Share::asked);
      parallel_for(m_, 16, [&](i64 begin, i64 end) {
        for (i64 r = begin; r < end; ++r) finish_softmax(r);
      });
      if (a_.gradient()) run_groups([&](TileWork<T>& w, i64 tile, i64 r, i64 n) { read_gradient(w, tile, r, n); });
    } else {
      run_groups([&](TileWork<T>& w, i64 tile, i64 r, i64 n) { make_gradient(w, tile, r, n); });
      parallel_for(m_, 16, [&](i64 begin, i64 end) {
        for (i64 r = begin; r < end; ++r) finish_sums(r);
      });
    }
  }

 private:
  const QueryArguments<T>& a_;
  const Tiling& tiling_;
  const i64 first_, m_;
  const i32* const offsets_;
  const TileLists answers_, known_;
  std::vector<T> picked_;        // scores of answers, then for masked_softmax their gradients
  std::vector<T> top_, total_;   // by tile and query; top_ becomes the factor of the exponentials
  std::vector<double> rest_;     // Σ of scores where sigma counts, or losses of the tile
  T *stored_ = nullptr, *panels_ = nullptr;

  T omega(i64 r) const { return a_.omega[first_ + r]; }
  T tau(i64 r) const { return a_.tau[first_ + r]; }
  T sigma(i64 r) const { return a_.sigma[first_ + r]; }
  i64 cell(i64 tile, i64 r) const { return tile * m_ + r; }
  T* stored(i64 tile, i64 r) const { return stored_ + cell(tile, r) * tiling_.size; }

  template <class F>
  void with_work(F&& f) const {
    static thread_local gemm_detail::Scratch scratch;
    TileWork<T> work(tiling_, a_.width, a_.kept != nullptr, scratch);
    f(work);
  }

  // Calls f(first, count) for the bands of queries. Their boundaries change no bits.
  template <class F>
  void each_band(F&& f) const {
    const Cut cut(m_, kBandQueries);
    i64 r = 0;
    for (i64 band = 0; band < cut.count; r += cut.height(band), ++band) f(r, static_cast<i64>(cut.height(band)));
  }

  Panels<T> queries_panels(i64 r, i64 count) const {
    return {panels_ + r * Panels<T>::size(1, a_.width), count, a_.width};
  }

  void pack_queries(gemm_detail::Scratch& scratch) {
    panels_ = scratch.get<T>(Panels<T>::size(m_, a_.width));
    each_band([&](i64 r, i64 count) {
      gather_panels(a_.query + (first_ + r) * a_.width, nullptr, queries_panels(r, count));
    });
  }

  // Scores of `count` queries from r on against the tile in w.across.
  void score(TileWork<T>& w, i64 tile, i64 r, i64 count) const {
    const i64 n = tiling_.rows(tile);
    multiply(a_.query + (first_ + r) * a_.width, a_.width, false, w.across, w.scores, w.stride, count, false);
    if (!a_.bias) return;
    const T* const bias = a_.bias + tiling_.begin(tile);
    for (i64 i = 0; i < count; ++i) {
      T* const x = w.row(i);
      for (i64 j = 0; j < n; ++j) x[j] += bias[j];
    }
  }

  void soften_tile(TileWork<T>& w, i64 tile) {
    const i64 n = tiling_.rows(tile);
    const bool streamed = tiling_.tiles * m_ * tiling_.size * static_cast<i64>(sizeof(T)) >= kStreamBytes;
    w.take_across(w.rows(a_, tiling_.begin(tile), n), n);
    each_band([&](i64 r, i64 count) {
      score(w, tile, r, count);
      const auto at = [&](const TileLists::Entry& e) -> T& { return w.row(e.query - r)[e.column]; };
      answers_.each(tile, r, r + count, [&](const TileLists::Entry& e) { picked_[e.at] = at(e); });
      if (a_.kind == QueryKind::masked_softmax) {
        answers_.each(tile, r, r + count, [&](const TileLists::Entry& e) { at(e) = -vm::kInfinity<T>; });
        known_.each(tile, r, r + count, [&](const TileLists::Entry& e) { at(e) = -vm::kInfinity<T>; });
      }
      for (i64 i = 0; i < count; ++i) {
        const i64 c = cell(tile, r + i);
        if (sigma(r + i) != T(0)) rest_[c] = static_cast<double>(row_sum(w.row(i), n));
        total_[c] = softmax_part(w.row(i), n, top_[c], stored_ ? stored(tile, r + i) : nullptr, streamed);
      }
    });
    if (streamed) stream_end();
  }

  // The loss of a query from the numbers of all tiles, in order, and the factors of its exponentials.
  void finish_softmax(i64 r) {
    T top = -vm::kInfinity<T>;
    for (i64 t = 0; t < tiling_.tiles; ++t) top = top_[cell(t, r)] > top ? top_[cell(t, r)] : top;
    if (top == -vm::kInfinity<T>) top = T(0);
    double total = 0, all = 0;
    for (i64 t = 0; t < tiling_.tiles; ++t) {
      const T share = exp_nonpositive(top_[cell(t, r)] - top);
      top_[cell(t, r)] = share;
      total += static_cast<double>(share) * static_cast<double>(total_[cell(t, r)]);
      all += rest_[cell(t, r)];
    }
    const bool masked = a_.kind == QueryKind::masked_softmax;
    const double lse = total == 0 ? -vm::kInfinity<double> : static_cast<double>(top) + vm::log(total);
    double loss = -sigma(r) * all, factor = omega(r) / total;
    T *const own = picked_.data() + (offsets_[r] - offsets_[0]), *const end = own + (offsets_[r + 1] - offsets_[r]);
    if (masked) {
      const double count = end > own ? static_cast<double>(end - own) : 1;
      const double weight = omega(r) / count, less = tau(r) + sigma(r) / count;
      double others = 0;
      for (T* s = own; s < end; ++s) {
        const AnswerShare share(*s, lse, weight, less);
        loss += share.loss;
        others += share.others;
        *s = static_cast<T>(share.g);
      }
      factor = total == 0 ? 0 : others / total;
    } else {
      loss += omega(r) * lse;
      for (const T* s = own; s < end; ++s) loss -= tau(r) * static_cast<double>(*s);
    }
    a_.loss[first_ + r] = static_cast<T>(loss);
    for (i64 t = 0; t < tiling_.tiles; ++t) top_[cell(t, r)] *= static_cast<T>(factor);
  }

  // The gradient by the scores of a band, from the exponentials of the first pass.
  void read_gradient(TileWork<T>& w, i64 tile, i64 r, i64 count) const {
    const i64 n = tiling_.rows(tile);
    for (i64 i = 0; i < count; ++i) {
      softmax_gradient(stored(tile, r + i), top_[cell(tile, r + i)], sigma(r + i), w.row(i), n);
    }
    const auto at = [&](const TileLists::Entry& e) -> T& { return w.row(e.query - r)[e.column]; };
    if (a_.kind == QueryKind::softmax) {
      answers_.each(tile, r, r + count, [&](const TileLists::Entry& e) { at(e) -= tau(e.query); });
      return;
    }
    known_.each(tile, r, r + count, [&](const TileLists::Entry& e) { at(e) = T(0); });
    answers_.each(tile, r, r + count, [&](const TileLists::Entry& e) { at(e) = T(0); });
    answers_.each(tile, r, r + count, [&](const TileLists::Entry& e) { at(e) += picked_[e.at]; });
  }

  // The same for the kinds whose scores do not compete, with their losses.
  void make_gradient(TileWork<T>& w, i64 tile, i64 r, i64 count) {
    const i64 n = tiling_.rows(tile);
    const bool gradient = a_.gradient(), bce = a_.kind == QueryKind::bce;
    score(w, tile, r, count);
    const auto at = [&](const TileLists::Entry& e) -> T& { return w.row(e.query - r)[e.column]; };
    answers_.each(tile, r, r + count, [&](const TileLists::Entry& e) {
      if (bce) picked_[e.at] = at(e) + a_.offset;
      else at(e) -= target_of(tau(e.query), omega(e.query));
    });
    for (i64 i = 0; i < count; ++i) {
      const T weight = omega(r + i), each = sigma(r + i);
      rest_[cell(tile, r + i)] = bce ? bce_part(w.row(i), n, weight, each, a_.offset, gradient)
                                     : squares_part(w.row(i), n, weight, each, gradient);
    }
    if (bce && gradient) answers_.each(tile, r, r + count, [&](const TileLists::Entry& e) { at(e) -= tau(e.query); });
  }

  void finish_sums(i64 r) const {
    double loss = 0;
    for (i64 t = 0; t < tiling_.tiles; ++t) loss += rest_[cell(t, r)];
    if (a_.kind == QueryKind::bce) {
      for (i64 k = offsets_[r] - offsets_[0]; k < offsets_[r + 1] - offsets_[0]; ++k) loss -= tau(r) * static_cast<double>(picked_[k]);
    }
    a_.loss[first_ + r] = static_cast<T>(loss);
  }

  // For every group of tiles: gradient(w, tile, r, count) leaves the gradient by the scores of a band in w, then the products.
  template <class Gradient>
  void run_groups(Gradient&& gradient) const {
    static thread_local gemm_detail::Scratch scratch;
    const i64 size = m_ * a_.width;
    T* const own = a_.g_query ? a_.g_query + first_ * a_.width : nullptr;
    T* const later = own ? scratch.get<T>((tiling_.groups - 1) * size) : nullptr;
    parallel_for(tiling_.groups, 1, [&](i64 group, i64) {
      T* const g_query = group == 0 || !own ? own : later + (group - 1) * size;
      with_work([&](TileWork<T>& w) {
        for (i64 tile = tiling_.first_tile(group); tile < tiling_.first_tile(group + 1); ++tile) {
          run_tile(w, tile, g_query, tile > tiling_.first_tile(group), gradient);
        }
      });
    }, Share::asked);
    if (!own) return;
    parallel_for(size, kElementGrain / 4, [&](i64 begin, i64 end) {
      for (i64 part = 0; part + 1 < tiling_.groups; ++part) {
        for (i64 i = begin; i < end; ++i) own[i] += later[part * size + i];
      }
    });
  }

  template <class Gradient>
  void run_tile(TileWork<T>& w, i64 tile, T* g_query, bool add, Gradient&& gradient) const {
    const i64 n = tiling_.rows(tile), d = a_.width, begin = tiling_.begin(tile);
    const T* const rows = w.rows(a_, begin, n);
    if (!stored_) w.take_across(rows, n);
    if (g_query) w.take_plain(rows, n);
    T* const g_table = a_.g_table ? a_.g_table + begin * d : nullptr;
    each_band([&](i64 r, i64 count) {
      gradient(w, tile, r, count);
      const T* const g = w.scores;
      const bool later = first_ + r > 0;
      if (g_query) multiply(g, w.stride, false, w.plain, g_query + r * d, d, count, add);
      if (g_table) multiply(g, w.stride, true, queries_panels(r, count), g_table, d, n, later);
      if (a_.g_bias) add_columns(g, w.stride, a_.g_bias + begin, count, n, later);
    });
    const bool last = first_ + m_ == a_.queries;
    if (a_.kept && g_table && last) drop(g_table, a_.kept + begin * d, a_.kept_scale, g_table, n * d);
  }

  static void add_columns(const T* x, i64 stride, T* SKEIN_RESTRICT out, i64 rows, i64 cols, bool add) {
    if (!add) std::fill(out, out + cols, T(0));
    for (i64 r = 0; r < rows; ++r) {
      for (i64 j = 0; j < cols; ++j) out[j] += x[r * stride + j];
    }
  }
};

}  // namespace score_detail
}  // namespace skein
