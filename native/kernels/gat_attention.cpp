// gatAttention and its gradient.
//
// A row's scores are few beside the features they weigh, so they wait in a buffer of the thread: the largest is known
// before the first exponential, and the features are read once.
#include "gat_attention.h"

#include <cmath>
#include <vector>

#include "philox.h"
#include "softmax_row.h"

namespace skein {
namespace {

template <class T>
struct Mask {
  const u32* key;
  u64 bound;
  T scale;

  Mask(const u32* k, double drop)
      : key(k), bound(philox_threshold(drop)), scale(static_cast<T>(1.0 / (1.0 - drop))) {}

  // out[i] = the factor of element first + i.
  void fill(i64 first, i64 n, T* out) const {
    if (key == nullptr) {
      for (i64 i = 0; i < n; ++i) out[i] = T(1);
      return;
    }
    philox_words(key, static_cast<u64>(first), n, [&](const u32* words, i64 offset, i64 count) {
      for (i64 i = 0; i < count; ++i) out[offset + i] = words[i] >= bound ? scale : T(0);
    });
  }
};

}  // namespace

template <class T>
void gat_attention(const T* z, const T* el, const T* er, const T* ee, Offsets offsets, const i32* indices,
                   const u32* key, double drop, T* y, T* lse, i64 rows, i64 heads, i64 width, double slope) {
  const Mask<T> mask(key, drop);
  const T leak = static_cast<T>(slope);
  for_rows(offsets, rows, entry_grain(heads * width * static_cast<i64>(sizeof(T))), [&](i64 from, i64 to) {
    std::vector<T> weights, factors;
    for (i64 r = from; r < to; ++r) {
      const i64 begin = offsets[r], n = (offsets[r + 1] - begin) * heads;
      weights.resize(static_cast<std::size_t>(n));
      factors.resize(static_cast<std::size_t>(n));
      mask.fill(begin * heads, n, factors.data());
      for (i64 h = 0; h < heads; ++h) {
        T top = -vm::kInfinity<T>, total = 0;
        for (i64 i = h; i < n; i += heads) {
          const T sum = el[indices[begin + i / heads] * heads + h] + er[r * heads + h] +
                        (ee == nullptr ? T(0) : ee[begin * heads + i]);
          weights[i] = sum > T(0) ? sum : leak * sum;
          top = weights[i] > top ? weights[i] : top;
        }
        for (i64 i = h; i < n; i += heads) total += weights[i] = exp_nonpositive(weights[i] - top);
        lse[r * heads + h] = n > 0 ? top + std::log(total) : T(0);
        T* out = y + (r * heads + h) * width;
        for (i64 d = 0; d < width; ++d) out[d] = T(0);
        for (i64 i = h; i < n; i += heads) {
          const T weight = weights[i] / total * factors[i];
          const T* row = z + (indices[begin + i / heads] * heads + h) * width;
          for (i64 d = 0; d < width; ++d) out[d] += weight * row[d];
        }
      }
    }
  });
}

template <class T>
void gat_attention_backward(const T* z, const T* el, const T* er, const T* ee, const T* y, const T* lse, const T* gy,
                            Offsets offsets, const i32* indices, const u32* key, double drop, T* attention, T* gscore,
                            i64 rows, i64 heads, i64 width, double slope) {
  const Mask<T> mask(key, drop);
  const T leak = static_cast<T>(slope);
  for_rows(offsets, rows, entry_grain(heads * width * static_cast<i64>(sizeof(T))), [&](i64 from, i64 to) {
    for (i64 r = from; r < to; ++r) {
      const i64 begin = offsets[r], n = (offsets[r + 1] - begin) * heads;
      T* factors = attention + begin * heads;
      mask.fill(begin * heads, n, factors);
      for (i64 h = 0; h < heads; ++h) {
        const T* g = gy + (r * heads + h) * width;
        T common = 0;
        for (i64 d = 0; d < width; ++d) common += g[d] * y[(r * heads + h) * width + d];
        for (i64 i = h; i < n; i += heads) {
          const i64 u = indices[begin + i / heads];
          const T sum = el[u * heads + h] + er[r * heads + h] + (ee == nullptr ? T(0) : ee[begin * heads + i]);
          const T alpha = exp_nonpositive((sum > T(0) ? sum : leak * sum) - lse[r * heads + h]);
          const T* row = z + (u * heads + h) * width;
          T dot = 0;
          for (i64 d = 0; d < width; ++d) dot += g[d] * row[d];
          gscore[begin * heads + i] = alpha * ((factors[i] == T(0) ? T(0) : factors[i] * dot) - common) *
                                      (sum > T(0) ? T(1) : leak);
          factors[i] = factors[i] == T(0) ? T(0) : factors[i] * alpha;
        }
      }
    }
  });
}

#define SKEIN_INSTANTIATE(T)                                                                                          \
  template void gat_attention(const T*, const T*, const T*, const T*, Offsets, const i32*, const u32*, double, T*, T*, \
                              i64, i64, i64, double);                                                                 \
  template void gat_attention_backward(const T*, const T*, const T*, const T*, const T*, const T*, const T*, Offsets,  \
                                       const i32*, const u32*, double, T*, T*, i64, i64, i64, double);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)

}  // namespace skein
