// sumRows: the sums of rows with the same id, each destination written once. Where every destination is needed this saves
// the passes of filling with zeros and of adding in place.
#include <cstring>
#include <vector>

#include "sparse/group_by_key.h"
#include "rows/rows.h"
#include "rows/rows_stream.h"

namespace skein {

template <class T>
void sum_rows(const i32* ids, const T* src, T* out, i64 n, i64 rows, i64 width) {
  if (rows <= 0 || width <= 0) return;
  static thread_local std::vector<i32> bounds, order;
  bounds.resize(static_cast<std::size_t>(rows + 1));
  order.resize(static_cast<std::size_t>(n));
  const Offsets offsets{bounds.data(), false};
  group_by_key(ids, offsets, order.data(), n, rows);
  const i32* const at = order.data();
  const i64 bytes = width * static_cast<i64>(sizeof(T)), ahead = rows_ahead(bytes);
  for_rows(offsets, rows, entry_grain(bytes), [&](i64 from, i64 to) {
    const i64 last = offsets[to];
    i64 k = offsets[from];
    for (i64 row = from; row < to; ++row) {
      T* SKEIN_RESTRICT y = out + row * width;
      const i64 end = offsets[row + 1];
      for (i64 next = k + ahead; next < end + ahead && next < last; ++next) fetch_bytes<0>(src + at[next] * width, bytes);
      if (k == end) {
        std::memset(y, 0, static_cast<std::size_t>(bytes));
      } else if (k + 1 == end) {
        std::memcpy(y, src + at[k] * width, static_cast<std::size_t>(bytes));
      } else {
        const T *SKEIN_RESTRICT a = src + at[k] * width, *SKEIN_RESTRICT b = src + at[k + 1] * width;
        for (i64 j = 0; j < width; ++j) y[j] = a[j] + b[j];
        for (i64 i = k + 2; i < end; ++i) {
          const T* SKEIN_RESTRICT x = src + at[i] * width;
          for (i64 j = 0; j < width; ++j) y[j] += x[j];
        }
      }
      k = end;
    }
  });
}

template void sum_rows<float>(const i32*, const float*, float*, i64, i64, i64);
template void sum_rows<double>(const i32*, const double*, double*, i64, i64, i64);

}  // namespace skein
