// gatv2Scores and its gradients.
#include "gatv2.h"

#include <vector>

namespace skein {

template <class T>
void gatv2_scores(const T* xl, const T* xr, const T* a, const T* ee, Offsets offsets, const i32* indices, T* out,
                  i64 rows, i64 heads, i64 width, double slope) {
  const i64 all = heads * width;
  const T leak = static_cast<T>(slope);
  for_rows(offsets, rows, entry_grain(all * static_cast<i64>(sizeof(T))), [&](i64 from, i64 to) {
    for (i64 r = from; r < to; ++r) {
      for (i64 p = offsets[r]; p < offsets[r + 1]; ++p) {
        for (i64 h = 0; h < heads; ++h) {
          T total = 0;
          for (i64 f = h * width; f < (h + 1) * width; ++f) {
            const T sum = xl[indices[p] * all + f] + xr[r * all + f] + (ee == nullptr ? T(0) : ee[p * all + f]);
            total += a[f] * (sum > T(0) ? sum : leak * sum);
          }
          out[p * heads + h] = total;
        }
      }
    }
  });
}

template <class T>
void gatv2_scores_backward(const T* xl, const T* xr, const T* a, const T* ee, const T* gout, Offsets offsets,
                           const i32* indices, T* gxr, T* ga, T* gee, i64 rows, i64 heads, i64 width, double slope) {
  const i64 all = heads * width;
  const T leak = static_cast<T>(slope);
  std::vector<double> weights(static_cast<std::size_t>(all));
  for (i64 r = 0; r < rows; ++r) {
    for (i64 f = 0; f < all; ++f) gxr[r * all + f] = T(0);
    for (i64 p = offsets[r]; p < offsets[r + 1]; ++p) {
      for (i64 f = 0; f < all; ++f) {
        const T g = gout[p * heads + f / width];
        const T sum = xl[indices[p] * all + f] + xr[r * all + f] + (ee == nullptr ? T(0) : ee[p * all + f]);
        const T gsum = g * a[f] * (sum > T(0) ? T(1) : leak);
        gxr[r * all + f] += gsum;
        weights[f] += g * (sum > T(0) ? sum : leak * sum);
        if (gee != nullptr) gee[p * all + f] = gsum;
      }
    }
  }
  for (i64 f = 0; f < all; ++f) ga[f] = static_cast<T>(weights[f]);
}

template <class T>
void gatv2_scores_backward_source(const T* xl, const T* xr, const T* a, const T* ee, const T* gout, Offsets offsets,
                                  const i32* indices, const i32* slots, T* gxl, i64 rows, i64 heads, i64 width,
                                  double slope) {
  const i64 all = heads * width;
  const T leak = static_cast<T>(slope);
  for_rows(offsets, rows, entry_grain(all * static_cast<i64>(sizeof(T))), [&](i64 from, i64 to) {
    for (i64 r = from; r < to; ++r) {
      for (i64 f = 0; f < all; ++f) gxl[r * all + f] = T(0);
      for (i64 p = offsets[r]; p < offsets[r + 1]; ++p) {
        const i64 slot = slots[p];
        for (i64 f = 0; f < all; ++f) {
          const T sum = xl[r * all + f] + xr[indices[p] * all + f] + (ee == nullptr ? T(0) : ee[slot * all + f]);
          gxl[r * all + f] += gout[slot * heads + f / width] * a[f] * (sum > T(0) ? T(1) : leak);
        }
      }
    }
  });
}

#define SKEIN_INSTANTIATE(T)                                                                                          \
  template void gatv2_scores(const T*, const T*, const T*, const T*, Offsets, const i32*, T*, i64, i64, i64, double);  \
  template void gatv2_scores_backward(const T*, const T*, const T*, const T*, const T*, Offsets, const i32*, T*, T*,   \
                                      T*, i64, i64, i64, double);                                                     \
  template void gatv2_scores_backward_source(const T*, const T*, const T*, const T*, const T*, Offsets, const i32*,    \
                                             const i32*, T*, i64, i64, i64, double);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)

}  // namespace skein
