// sddmm: the features of a row stay in the first-level cache, those at the other end of its entries are fetched ahead.
#include "sparse/sddmm.h"

#include "sparse/entry_dots.h"
#include "rows/rows_stream.h"
#include "sparse/position_lanes.h"

namespace skein {

template <class T>
void sddmm(const T* x, const T* y, const T* x_scale, const T* y_scale, const i32* arg, Offsets offsets,
           const i32* indices, T* out, i64 rows, i64 width, i64 heads) {
  if (heads <= 0 || rows <= 0) return;
  const i64 bytes = width * i64{sizeof(T)};
  const i64 ahead = rows_ahead(bytes), entries = offsets[rows];
  for_rows(offsets, rows, entry_grain(bytes + heads * i64{sizeof(T)}), [&](i64 from, i64 to) {
    EntryDots<T> dots(heads, width / heads);
    for (i64 r = from; r < to; ++r) {
      const T* own = y + r * width;
      const i32* won = arg == nullptr ? nullptr : arg + r * width;
      const T factor = y_scale == nullptr ? T(1) : y_scale[r];
      for (i64 p = offsets[r], end = offsets[r + 1]; p < end; ++p) {
        if (p + ahead < entries) fetch_bytes<0>(x + indices[p + ahead] * width, bytes);
        const T* row = x + indices[p] * width;
        T* to_entry = out + p * heads;
        if (won == nullptr) {
          dots(product_of(row, own), to_entry);
        } else {
          const auto position = PositionLanes<T>::set(p);
          const auto product = product_of(row, own);
          const auto if_won = [=](i64 f, auto lanes) {
            return where_equal(PositionLanes<T>::load(won + f, lanes), position, product(f, lanes));
          };
          dots(if_won, to_entry);
        }
        if (y_scale == nullptr && x_scale == nullptr) continue;
        const T scale = x_scale == nullptr ? factor : factor * x_scale[indices[p]];
        for (i64 h = 0; h < heads; ++h) to_entry[h] *= scale;
      }
    }
  });
}

template void sddmm(const float*, const float*, const float*, const float*, const i32*, Offsets, const i32*, float*, i64,
                    i64, i64);
template void sddmm(const double*, const double*, const double*, const double*, const i32*, Offsets, const i32*, double*,
                    i64, i64, i64);

}  // namespace skein
