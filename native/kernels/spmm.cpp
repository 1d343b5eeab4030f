// spmm: rows of x, gathered by the entries of each row of the structure and reduced.
#include "spmm.h"

#include <vector>

#include "op_codes.h"

namespace skein {

template <class T>
void spmm(i64 op, const T* x, const T* w, const T* x_scale, const T* y_scale, Offsets offsets, const i32* indices,
          const i32* slots, T* y, i32* arg, i64 rows, i64 x_rows, i64 width, i64 w_cols, bool has_self, i64 self,
          bool accumulate) {
  if (width <= 0) return;
  const ReduceOp reduce = static_cast<ReduceOp>(op);
  const bool adds = reduce == ReduceOp::sum || reduce == ReduceOp::mean;
  const i64 block = width / w_cols;
  for_rows(offsets, rows, entry_grain(width * static_cast<i64>(sizeof(T))), [&](i64 from, i64 to) {
    std::vector<T> best(static_cast<std::size_t>(width));
    std::vector<i32> winner(static_cast<std::size_t>(width));
    for (i64 r = from; r < to; ++r) {
      i64 count = 0;
      for (i64 f = 0; f < width; ++f) best[f] = T(0), winner[f] = -1;
      if (adds && has_self && r + self >= 0 && r + self < x_rows) {
        const T scale = x_scale == nullptr ? T(1) : x_scale[r + self];
        for (i64 f = 0; f < width; ++f) best[f] = scale * x[(r + self) * width + f];
        ++count;
      }
      for (i64 p = offsets[r]; p < offsets[r + 1]; ++p, ++count) {
        const i64 slot = slots == nullptr ? p : slots[p];
        const T scale = x_scale == nullptr ? T(1) : x_scale[indices[p]];
        for (i64 f = 0; f < width; ++f) {
          const T v = (w == nullptr ? scale : scale * w[slot * w_cols + f / block]) * x[indices[p] * width + f];
          if (adds) {
            best[f] += v;
          } else if (count == 0 || (reduce == ReduceOp::max ? v > best[f] : v < best[f]) ||
                     (v != v && best[f] == best[f])) {
            best[f] = v;
            winner[f] = static_cast<i32>(slot);
          }
        }
      }
      const T divisor = reduce == ReduceOp::mean && count > 0 ? static_cast<T>(count) : T(1);
      for (i64 f = 0; f < width; ++f) {
        const T v = (y_scale == nullptr ? T(1) : y_scale[r]) * (best[f] / divisor);
        y[r * width + f] = accumulate ? y[r * width + f] + v : v;
        if (!adds && arg != nullptr) arg[r * width + f] = winner[f];
      }
    }
  });
}

template <class T>
void spmm_arg_backward(const T* gy, const T* w, const i32* arg, Offsets offsets, const i32* indices, const i32* slots,
                       T* gx, i64 rows, i64 width, i64 w_cols) {
  if (width <= 0) return;
  const i64 block = width / w_cols;
  for_rows(offsets, rows, entry_grain(width * static_cast<i64>(sizeof(T))), [&](i64 from, i64 to) {
    for (i64 r = from; r < to; ++r) {
      T* out = gx + r * width;
      for (i64 f = 0; f < width; ++f) out[f] = T(0);
      for (i64 p = offsets[r]; p < offsets[r + 1]; ++p) {
        const i64 at = indices[p] * width;
        const i64 slot = slots[p];
        for (i64 f = 0; f < width; ++f) {
          const T v = w == nullptr ? gy[at + f] : w[slot * w_cols + f / block] * gy[at + f];
          out[f] += arg[at + f] == slot ? v : T(0);
        }
      }
    }
  });
}

#define SKEIN_INSTANTIATE(T)                                                                                          \
  template void spmm(i64, const T*, const T*, const T*, const T*, Offsets, const i32*, const i32*, T*, i32*, i64, i64, \
                     i64, i64, bool, i64, bool);                                                                      \
  template void spmm_arg_backward(const T*, const T*, const i32*, Offsets, const i32*, const i32*, T*, i64, i64, i64);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)

}  // namespace skein
