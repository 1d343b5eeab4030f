// Joins what shards of a graph computed. Rows are unique, so chunks of rows never meet.
#include "sparse/merge_parts.h"

#include "support/vecmath.h"

namespace skein {

namespace {

inline i64 rows_per_chunk(i64 width) { return width > 0 && width < kElementGrain ? kElementGrain / width : 1; }

}  // namespace

template <class T>
void merge_extreme(bool max, T* y, i32* arg, const T* part, const i32* arg_part, const i32* rows, i64 count,
                   i64 width) {
  parallel_for(count, rows_per_chunk(width), [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      const i64 row = rows == nullptr ? i : rows[i];
      T* SKEIN_RESTRICT to = y + row * width;
      i32* SKEIN_RESTRICT position = arg + row * width;
      const T* SKEIN_RESTRICT from = part + i * width;
      const i32* SKEIN_RESTRICT position_from = arg_part + i * width;
      for (i64 f = 0; f < width; ++f) {
        const T value = from[f];
        const T best = to[f];
        const bool nan = value != value;
        const bool best_nan = best != best;
        const bool better = max ? value > best : value < best;
        const bool tie = (value == best) | (nan & best_nan);
        const bool wins = (position[f] < 0) | better | (nan & !best_nan) | (tie & (position_from[f] < position[f]));
        to[f] = wins ? value : best;
        position[f] = wins ? position_from[f] : position[f];
      }
    }
  });
}

template <class T>
void merge_attention(T* y, T* lse, const T* part, const T* lse_part, const i32* rows, i64 count, i64 heads,
                     i64 width) {
  parallel_for(count, rows_per_chunk(heads * width), [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      const i64 row = rows == nullptr ? i : rows[i];
      for (i64 h = 0; h < heads; ++h) {
        const T a = lse[row * heads + h];
        const T b = lse_part[i * heads + h];
        const T top = a > b ? a : b;
        const T ea = vm::exp(a - top);
        const T eb = vm::exp(b - top);
        lse[row * heads + h] = top + vm::log(ea + eb);
        const T wa = ea / (ea + eb);
        const T wb = eb / (ea + eb);
        T* SKEIN_RESTRICT to = y + (row * heads + h) * width;
        const T* SKEIN_RESTRICT from = part + (i * heads + h) * width;
        for (i64 d = 0; d < width; ++d) to[d] = wa * to[d] + wb * from[d];
      }
    }
  });
}

template void merge_extreme(bool, float*, i32*, const float*, const i32*, const i32*, i64, i64);
template void merge_extreme(bool, double*, i32*, const double*, const i32*, const i32*, i64, i64);
template void merge_attention(float*, float*, const float*, const float*, const i32*, i64, i64, i64);
template void merge_attention(double*, double*, const double*, const double*, const i32*, i64, i64, i64);

}  // namespace skein
