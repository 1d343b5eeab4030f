// sddmm: one product per entry and head.
#include "sddmm.h"

namespace skein {

template <class T>
void sddmm(const T* x, const T* y, const T* x_scale, const T* y_scale, const i32* arg, Offsets offsets,
           const i32* indices, T* out, i64 rows, i64 width, i64 heads) {
  if (heads <= 0) return;
  const i64 block = width / heads;
  for_rows(offsets, rows, entry_grain(width * static_cast<i64>(sizeof(T))), [&](i64 from, i64 to) {
    for (i64 r = from; r < to; ++r) {
      for (i64 p = offsets[r]; p < offsets[r + 1]; ++p) {
        const T scale = (y_scale == nullptr ? T(1) : y_scale[r]) * (x_scale == nullptr ? T(1) : x_scale[indices[p]]);
        for (i64 h = 0; h < heads; ++h) {
          T total = 0;
          for (i64 f = h * block; f < (h + 1) * block; ++f) {
            if (arg == nullptr || arg[r * width + f] == p) total += x[indices[p] * width + f] * y[r * width + f];
          }
          out[p * heads + h] = scale * total;
        }
      }
    }
  });
}

template void sddmm(const float*, const float*, const float*, const float*, const i32*, Offsets, const i32*, float*, i64,
                    i64, i64);
template void sddmm(const double*, const double*, const double*, const double*, const i32*, Offsets, const i32*, double*,
                    i64, i64, i64);

}  // namespace skein
