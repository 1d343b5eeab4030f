// Time encoding and its gradient.
#include "attention/time_encode.h"

#include <vector>

#include "attention/time_wave.h"

namespace skein {
namespace {

// Columns done at a time, and rows whose gradients are summed before they meet other rows' sums.
constexpr i64 kTile = 128;
constexpr i64 kBlockRows = 256;

// Sum of x[j] w[j] in 8 fixed lanes.
template <class T>
inline double lane_dot(const T* x, const T* w, i64 n) {
  double lane[8] = {};
  i64 j = 0;
  for (; j + 8 <= n; j += 8)
    for (i64 k = 0; k < 8; ++k) lane[k] += static_cast<double>(x[j + k]) * static_cast<double>(w[j + k]);
  for (i64 k = 0; j + k < n; ++k) lane[k] += static_cast<double>(x[j + k]) * static_cast<double>(w[j + k]);
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

// Rows [begin, end): gw and gb (double, d each, zero before) and gt.
template <class T>
void backward_block(const T* t, const T* w, const T* b, const T* gy, T* gt, double* gw, double* gb, i64 begin, i64 end,
                    i64 d) {
  double row_sum[kBlockRows] = {};
  T slope[kTile];
  for (i64 c = 0; c < d; c += kTile) {
    const i64 columns = d - c < kTile ? d - c : kTile;
    for (i64 i = begin; i < end; ++i) {
      const double time = static_cast<double>(t[i]);
      wave_row<false>(time, w + c, b + c, slope, columns);
      const T* SKEIN_RESTRICT g = gy + i * d + c;
      double* SKEIN_RESTRICT sum_w = gw + c;
      double* SKEIN_RESTRICT sum_b = gb + c;
#pragma omp simd
      for (i64 j = 0; j < columns; ++j) {
        slope[j] = -slope[j] * g[j];
        const double s = static_cast<double>(slope[j]);
        sum_b[j] += s;
        sum_w[j] += s * time;
      }
      if (gt != nullptr) row_sum[i - begin] += lane_dot(slope, w + c, columns);
    }
  }
  if (gt != nullptr)
    for (i64 i = begin; i < end; ++i) gt[i] = static_cast<T>(row_sum[i - begin]);
}

}  // namespace

template <class T>
void time_encode(const T* t, const T* w, const T* b, T* y, i64 n, i64 d) {
  if (d <= 0) return;
  constexpr i64 kElements = 8192;
  parallel_for(n, (kElements + d - 1) / d, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) wave_row<true>(static_cast<double>(t[i]), w, b, y + i * d, d);
  });
}

template <class T>
void time_encode_backward(const T* t, const T* w, const T* b, const T* gy, T* gt, T* gw, T* gb, i64 n, i64 d) {
  const i64 blocks = (n + kBlockRows - 1) / kBlockRows;
  std::vector<double> partial(static_cast<std::size_t>((blocks + 1) * 2 * d), 0.0);
  parallel_for(n, kBlockRows, [&](i64 begin, i64 end) {
    double* sums = partial.data() + (begin / kBlockRows + 1) * 2 * d;
    backward_block(t, w, b, gy, gt, sums, sums + d, begin, end, d);
  });
  double* SKEIN_RESTRICT total = partial.data();
  for (i64 k = 1; k <= blocks; ++k) {
    const double* SKEIN_RESTRICT part = partial.data() + k * 2 * d;
    for (i64 j = 0; j < 2 * d; ++j) total[j] += part[j];
  }
  for (i64 j = 0; j < d; ++j) {
    gw[j] = static_cast<T>(total[j]);
    gb[j] = static_cast<T>(total[d + j]);
  }
}

#define SKEIN_INSTANTIATE(T)                                                            \
  template void time_encode<T>(const T*, const T*, const T*, T*, i64, i64);             \
  template void time_encode_backward<T>(const T*, const T*, const T*, const T*, T*, T*, T*, i64, i64);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
