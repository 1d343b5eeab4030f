// edgeSoftmax and its gradient.
#include "edge_softmax.h"

#include <vector>

#include "softmax_row.h"

namespace skein {

template <class T>
void edge_softmax(const T* scores, Offsets offsets, T* out, i64 rows, i64 heads) {
  for_rows(offsets, rows, entry_grain(heads * 8), [&](i64 from, i64 to) {
    for (i64 r = from; r < to; ++r) {
      const i64 begin = offsets[r] * heads, end = offsets[r + 1] * heads;
      for (i64 h = 0; h < heads; ++h) {
        T top = -vm::kInfinity<T>, total = 0;
        for (i64 i = begin + h; i < end; i += heads) top = scores[i] > top ? scores[i] : top;
        for (i64 i = begin + h; i < end; i += heads) total += out[i] = exp_nonpositive(scores[i] - top);
        for (i64 i = begin + h; i < end; i += heads) out[i] /= total;
      }
    }
  });
}

template <class T>
void edge_softmax_backward(const T* out, const T* gout, Offsets offsets, T* gscores, i64 rows, i64 heads) {
  for_rows(offsets, rows, entry_grain(heads * 8), [&](i64 from, i64 to) {
    for (i64 r = from; r < to; ++r) {
      const i64 begin = offsets[r] * heads, end = offsets[r + 1] * heads;
      for (i64 h = 0; h < heads; ++h) {
        T dot = 0;
        for (i64 i = begin + h; i < end; i += heads) dot += out[i] * gout[i];
        for (i64 i = begin + h; i < end; i += heads) gscores[i] = out[i] * (gout[i] - dot);
      }
    }
  });
}

template void edge_softmax(const float*, Offsets, float*, i64, i64);
template void edge_softmax(const double*, Offsets, double*, i64, i64);
template void edge_softmax_backward(const float*, const float*, Offsets, float*, i64, i64);
template void edge_softmax_backward(const double*, const double*, Offsets, double*, i64, i64);

}  // namespace skein
