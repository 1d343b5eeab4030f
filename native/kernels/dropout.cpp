// Dropout: one random word per element, compared with p·2^32. The work is Philox and memory traffic; the words of a
// piece stay in the first-level cache between the generator and the comparison.
#include "dropout.h"

#include "lanes.h"
#include "philox.h"

namespace skein {

template <class T>
void dropout(const T* x, T* y, i64 n, double p, const u32* key) {
  const u64 bound = philox_threshold(p);
  if (bound > 0xffffffffull) {  // p = 1 drops all, also infinities and NaN
    parallel_for(n, kElementGrain, [=](i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i) y[i] = T(0);
    });
    return;
  }
  const u32 threshold = static_cast<u32>(bound);
  const T scale = static_cast<T>(1.0 / (1.0 - p));
  const bool past = streamed(y, n / Lanes<T>::count, Lanes<T>::count);
  parallel_for(n, kElementGrain, [=](i64 begin, i64 end) {
    philox_words(key, static_cast<u64>(begin), end - begin, [=](const u32* words, i64 offset, i64 count) {
      alignas(64) T kept[kPhiloxPiece];
      const T* from = x + begin + offset;
      T* to = y + begin + offset;
      for (i64 i = 0; i < count; ++i) {
        const T scaled = from[i] * scale;
        kept[i] = words[i] >= threshold ? scaled : T(0);
      }
      for_lanes<T>(count, [=, &kept](i64 i, auto lanes) {
        Lanes<T>::load(kept + i, lanes, T(0)).store(to + i, lanes, past);
      });
    });
    if (past) stream_end();
  });
}

template void dropout(const float*, float*, i64, double, const u32*);
template void dropout(const double*, double*, i64, double, const u32*);

}  // namespace skein
