// The penalty of rows and its gradient in one pass: rows are read once by id, and nothing but the gradient is written.
#include "rows/rows.h"

#include <cmath>

namespace skein {
namespace {

constexpr i64 kSums = 8;

// |x|^(p − 2), from |x|² and, where it is known, |x|; 0 where it would be infinite.
template <class T, i64 P>
inline T slope_factor(T square, T modulus, i64 power) {
  if (P == 2) return T(1);
  if (P == 3) return modulus;
  if (power == 1) return square > T(0) ? T(1) / modulus : T(0);
  T product = T(1);
  for (i64 k = 2; k < power; ++k) product *= modulus;
  return product;
}

// Returns Σ|x|^p over a row; writes factor · its gradient. `half` is 0 for real rows.
template <class T, i64 P, bool kComplex>
T penalty_of_row(const T* SKEIN_RESTRICT x, T* SKEIN_RESTRICT g, T factor, i64 numbers, i64 half, i64 power) {
  T sums[kSums] = {};
  const auto at = [&](i64 c, i64 sum) {
    const T square = kComplex ? x[c] * x[c] + x[half + c] * x[half + c] : x[c] * x[c];
    const T modulus = P == 2 ? T(0) : kComplex ? std::sqrt(square) : std::abs(x[c]);
    const T slope = slope_factor<T, P>(square, modulus, power);
    sums[sum] += slope * square;
    if (!g) return;
    g[c] = factor * slope * x[c];
    if (kComplex) g[half + c] = factor * slope * x[half + c];
  };
  i64 c = 0;
  for (; c + kSums <= numbers; c += kSums) {
    for (i64 sum = 0; sum < kSums; ++sum) at(c + sum, sum);
  }
  for (i64 sum = 0; c < numbers; ++c, ++sum) at(c, sum);
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

template <class T, i64 P, bool kComplex>
void penalty_of_rows(const T* x, const i32* ids, const T* weights, T* loss, T* grad, i64 count, i64 width, i64 power) {
  const i64 half = kComplex ? width / 2 : 0, numbers = kComplex ? half : width;
  const i64 grain = width >= kElementGrain ? 1 : kElementGrain / (width > 0 ? width : 1);
  parallel_for(count, grain, [=](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      const T* row = x + (ids ? static_cast<i64>(ids[i]) : i) * width;
      T* const g = grad ? grad + i * width : nullptr;
      const T factor = weights[i] * static_cast<T>(power);
      loss[i] = weights[i] * penalty_of_row<T, P, kComplex>(row, g, factor, numbers, half, power);
    }
  });
}

}  // namespace

template <class T>
void row_penalty(const T* x, const i32* ids, const T* weights, T* loss, T* grad, i64 count, i64 width, i64 power,
                 bool complex) {
  const auto run = [&](auto rows) { rows(x, ids, weights, loss, grad, count, width, power); };
  if (power == 2) run(penalty_of_rows<T, 2, false>);  // the moduli's squares are the components'
  else if (power == 3) complex ? run(penalty_of_rows<T, 3, true>) : run(penalty_of_rows<T, 3, false>);
  else complex ? run(penalty_of_rows<T, 0, true>) : run(penalty_of_rows<T, 0, false>);
}

#define SKEIN_INSTANTIATE(T) \
  template void row_penalty(const T*, const i32*, const T*, T*, T*, i64, i64, i64, bool);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
