// Gradient of max and min over the middle axis: zero everywhere but at the winner.
#include "reduce/arg_scatter.h"

#include <algorithm>

namespace skein {

template <class T>
void arg_scatter(const T* gy, const i32* index, T* gx, i64 outer, i64 mid, i64 inner) {
  // Chunks of whole outer slices, about one grain of elements each; slices never share memory.
  const i64 slice = std::max<i64>(1, mid * inner);
  const i64 grain = std::max<i64>(1, kElementGrain / slice);
  parallel_for(outer, grain, [=](i64 begin, i64 end) {
    std::fill(gx + begin * mid * inner, gx + end * mid * inner, T(0));
    for (i64 o = begin; o < end; ++o) {
      for (i64 i = 0; i < inner; ++i) gx[(o * mid + index[o * inner + i]) * inner + i] = gy[o * inner + i];
    }
  });
}

template void arg_scatter<float>(const float*, const i32*, float*, i64, i64, i64);
template void arg_scatter<double>(const double*, const i32*, double*, i64, i64, i64);

}  // namespace skein
