// momentAttention: rows in chunks, node after node, so that the events of a node stay in the nearest cache for all of its times.
// The cosines of a chunk are summed with their weights first; one product then maps the sums of all its rows.
#include "attention/moment_attention.h"

#include "attention/temporal_rows.h"
#include "gemm/gemm.h"

namespace skein {
namespace {

// Rows per chunk: some 150 microseconds of work, whose sums fit into the second-level cache.
constexpr i64 kMoments = 128;

// The tables of one node with rows padded to whole lanes, and the scratch of one of its rows.
template <class T>
struct MomentBuffers {
  Lines<T> query, own, mapped, x, sums, hidden;
  std::vector<T> scores, common, sums_of_chunk;
};

template <class T>
void pad_rows(const T* from, T* to, i64 rows, i64 width) {
  const i64 padded = padded_width<T>(width);
  for (i64 r = 0; r < rows; ++r, from += width, to += padded)
    for_lanes<T>(width, [=](i64 f, auto lanes) { Lanes<T>::load(from + f, lanes, T(0)).store(to + f); });
}

template <class T>
void unpad_rows(const T* from, T* to, i64 rows, i64 width) {
  const i64 padded = padded_width<T>(width);
  for (i64 r = 0; r < rows; ++r, from += padded, to += width)
    for_lanes<T>(width, [=](i64 f, auto lanes) { Lanes<T>::load(from + f).store(to + f, lanes); });
}

}  // namespace

template <class T>
void moment_attention(const T* fixed, const T* mapped, const i32* mapped_rows, const i32* event_rows,
                      const double* event_times, const i32* offsets, const T* query, const T* own, const T* w, const T* b, const T* merge, const i32* cutoffs,
                      const double* times, T* y, i64 num_nodes, i64 num_times, i64 fanout, i64 heads, i64 dim_time,
                      i64 hidden, double scale, double slope) {
  const Waves<T> waves(w, b, dim_time);
  const i64 wide = padded_width<T>(dim_time), deep = padded_width<T>(hidden), width = heads * dim_time;
  parallel_for(num_nodes * num_times, kMoments, [&](i64 first_row, i64 last_row) {
    thread_local MomentBuffers<T> s;
    s.query.resize(heads * wide);
    s.own.resize(deep);
    s.sums.resize(heads * wide);
    s.hidden.resize(deep);
    s.common.resize(static_cast<std::size_t>(heads));
    s.sums_of_chunk.resize(static_cast<std::size_t>((last_row - first_row) * width));
    i64 node = -1, begin = 0, end = 0, last = 0;
    for (i64 row = first_row; row < last_row; ++row) {
      if (row / num_times != node) {
        node = row / num_times;
        begin = end = offsets[node];
        last = offsets[node + 1];
        const i64 most = std::min(last - begin, fanout);
        s.x.resize(most * wide);
        s.scores.resize(static_cast<std::size_t>(most * heads));
        pad_rows(query + node * heads * dim_time, s.query.data(), heads, dim_time);
        pad_rows(own + node * hidden, s.own.data(), 1, hidden);
        s.mapped.resize((last - begin) * heads * deep);
        for (i64 p = begin; p < last; ++p)
          pad_rows(mapped + mapped_rows[p] * heads * hidden, s.mapped.data() + (p - begin) * heads * deep, heads, hidden);
      }
      const i64 moment = row % num_times;
      while (end < last && event_rows[end] < cutoffs[moment]) ++end;
      while (end > begin && event_rows[end - 1] >= cutoffs[moment]) --end;
      const i64 count = std::min(end - begin, fanout), from = end - count;
      T* x = s.x.data();
      T* scores = s.scores.data();
      for (i64 p = 0; p < count; ++p) {
        const float span = static_cast<float>(times[moment] - event_times[from + p]);
        waves.template row<true>(static_cast<T>(span), x + p * wide);
      }
      row_dots(x, s.query.data(), wide, scores, count, heads);
      for (i64 c = 0; c < count * heads; ++c) scores[c] += fixed[from * heads + c];
      with_heads(heads, [&](auto k) {
        softmax_edges<k.value>(scores, scores, s.common.data(), count, heads, static_cast<T>(scale),
                               static_cast<T>(slope));
      });
      std::fill_n(s.sums.data(), heads * wide, T(0));
      row_sums(x, scores, wide, s.sums.data(), count, heads);
      unpad_rows(s.sums.data(), s.sums_of_chunk.data() + (row - first_row) * width, heads, dim_time);
      std::copy_n(s.own.data(), deep, s.hidden.data());
      row_sums(s.mapped.data() + (from - begin) * heads * deep, scores, deep, s.hidden.data(), count * heads, 1);
      unpad_rows(s.hidden.data(), y + row * hidden, 1, hidden);
    }
    T* out = y + first_row * hidden;
    gemm<T>(s.sums_of_chunk.data(), merge, nullptr, out, last_row - first_row, hidden, width, false, false, true);
    for (i64 f = 0; f < (last_row - first_row) * hidden; ++f) out[f] = out[f] > T(0) ? out[f] : T(0);
  });
}

#define SKEIN_INSTANTIATE(T)                                                                                            \
  template void moment_attention(const T*, const T*, const i32*, const i32*, const double*, const i32*, const T*,        \
                                 const T*, const T*, const T*, const T*, const i32*, const double*, T*, i64, i64, i64,  \
                                 i64, i64, i64, double, double);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
