// edgeSoftmax and its gradient, in chunks of rows: the exponentials of a chunk are computed together, because the rows
// are mostly too short to fill vectors.
#include "attention/edge_softmax.h"

#include <vector>

#include "attention/head_scores.h"

namespace skein {

template <class T>
void edge_softmax(const T* scores, Offsets offsets, T* out, i64 rows, i64 heads) {
  if (heads <= 0) return;
  for_rows(offsets, rows, entry_grain(heads * 2 * i64{sizeof(T)}), [&](i64 from, i64 to) {
    with_heads(heads, [&](auto h) {
      std::vector<T> of(static_cast<std::size_t>(heads));
      for (i64 r = from; r < to; ++r) {
        const i64 at = offsets[r] * heads, n = offsets[r + 1] - offsets[r];
        head_max<h.value>(scores + at, n, heads, of.data());
        head_map<h.value>(scores + at, n, heads, of.data(), out + at, [](auto& s, const auto& top) { s -= top; });
      }
      exp_all(out + offsets[from] * heads, (offsets[to] - offsets[from]) * heads);
      for (i64 r = from; r < to; ++r) {
        T* row = out + offsets[r] * heads;
        const i64 n = offsets[r + 1] - offsets[r];
        head_sum<h.value>(row, n, heads, of.data());
        head_map<h.value>(row, n, heads, of.data(), row, [](auto& s, const auto& total) { s /= total; });
      }
    });
  });
}

template <class T>
void edge_softmax_backward(const T* out, const T* gout, Offsets offsets, T* gscores, i64 rows, i64 heads) {
  if (heads <= 0) return;
  for_rows(offsets, rows, entry_grain(heads * 3 * i64{sizeof(T)}), [&](i64 from, i64 to) {
    with_heads(heads, [&](auto h) {
      std::vector<T> of(static_cast<std::size_t>(heads));
      const i64 begin = offsets[from] * heads, end = offsets[to] * heads;
      for (i64 i = begin; i < end; ++i) gscores[i] = out[i] * gout[i];
      for (i64 r = from; r < to; ++r) {
        const i64 at = offsets[r] * heads, n = offsets[r + 1] - offsets[r];
        head_sum<h.value>(gscores + at, n, heads, of.data());
        head_map<h.value>(gout + at, n, heads, of.data(), gscores + at, [](auto& g, const auto& dot) { g -= dot; });
      }
      for (i64 i = begin; i < end; ++i) gscores[i] *= out[i];
    });
  });
}

template void edge_softmax(const float*, Offsets, float*, i64, i64);
template void edge_softmax(const double*, Offsets, double*, i64, i64);
template void edge_softmax_backward(const float*, const float*, Offsets, float*, i64, i64);
template void edge_softmax_backward(const double*, const double*, Offsets, double*, i64, i64);

}  // namespace skein
