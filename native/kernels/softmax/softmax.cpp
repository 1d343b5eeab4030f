// Softmax by rows: a row stays in the first-level cache for its two or three passes, so memory is read once and
// written once. Sums are kept in 16 lanes (8 for f64) and folded in one order: same bits at every level with FMA.
#include "softmax/softmax.h"

#include <type_traits>

#include "softmax/softmax_row.h"

namespace skein {

// `hold` keeps the exponentials until their sum is known: y itself, or scratch when y is written past the cache.
template <class T>
static void softmax_row(const T* x, T* hold, T* y, i64 cols, bool past) {
  using L = Lanes<T>;
  const auto shift = L::set(row_max(x, cols));
  auto total = L::set(T(0));
  // The last, partial lanes wait in a register: reading back a partial store would stall.
  L tail = total;
  for_lanes<T>(cols, [&](i64 i, auto lanes) {
    const L e = exp_lanes(L::load(x + i, lanes, -vm::kInfinity<T>) - shift);
    total = total + e;
    if constexpr (std::is_same_v<decltype(lanes), AllLanes>) e.store(hold + i);
    else tail = e;
  });
  const auto factor = L::set(T(1) / sum(total));
  for_lanes<T>(cols, [&](i64 i, auto lanes) {
    if constexpr (std::is_same_v<decltype(lanes), AllLanes>) (L::load(hold + i) * factor).store(y + i, lanes, past);
    else (tail * factor).store(y + i, lanes);
  });
}

template <class T>
void softmax(const T* x, T* y, i64 rows, i64 cols) {
  constexpr i64 kScratch = 2048;
  const bool past = streamed(y, rows, cols) && cols <= kScratch;
  parallel_for(rows, row_grain(cols), [=](i64 begin, i64 end) {
    alignas(64) T scratch[kScratch];
    for (i64 r = begin; r < end; ++r) {
      softmax_row(x + r * cols, past ? scratch : y + r * cols, y + r * cols, cols, past);
    }
    if (past) stream_end();
  });
}

// gx = y · (gy − Σ y·gy)
template <class T>
void softmax_backward(const T* y, const T* gy, T* gx, i64 rows, i64 cols) {
  using L = Lanes<T>;
  const bool past = streamed(gx, rows, cols);
  parallel_for(rows, row_grain(cols), [=](i64 begin, i64 end) {
    for (i64 r = begin; r < end; ++r) {
      const T *yr = y + r * cols, *gyr = gy + r * cols;
      T* gxr = gx + r * cols;
      auto total = L::set(T(0));
      for_lanes<T>(cols, [&](i64 i, auto lanes) {
        total = total + L::load(yr + i, lanes, T(0)) * L::load(gyr + i, lanes, T(0));
      });
      const auto dot = L::set(sum(total));
      for_lanes<T>(cols, [&](i64 i, auto lanes) {
        (L::load(yr + i, lanes, T(0)) * (L::load(gyr + i, lanes, T(0)) - dot)).store(gxr + i, lanes, past);
      });
    }
    if (past) stream_end();
  });
}

template <class T>
void log_softmax(const T* x, T* y, i64 rows, i64 cols) {
  using L = Lanes<T>;
  const bool past = streamed(y, rows, cols);
  parallel_for(rows, row_grain(cols), [=](i64 begin, i64 end) {
    for (i64 r = begin; r < end; ++r) {
      const T* xr = x + r * cols;
      T* yr = y + r * cols;
      const T top = row_max(xr, cols);
      const auto shift = L::set(top), log_sum = L::set(vm::log(row_sum_exp(xr, top, cols)));
      for_lanes<T>(cols, [&](i64 i, auto lanes) {
        ((L::load(xr + i, lanes, T(0)) - shift) - log_sum).store(yr + i, lanes, past);
      });
    }
    if (past) stream_end();
  });
}

// gx = gy − exp(y) · Σ gy
template <class T>
void log_softmax_backward(const T* y, const T* gy, T* gx, i64 rows, i64 cols) {
  using L = Lanes<T>;
  const bool past = streamed(gx, rows, cols);
  parallel_for(rows, row_grain(cols), [=](i64 begin, i64 end) {
    for (i64 r = begin; r < end; ++r) {
      const T *yr = y + r * cols, *gyr = gy + r * cols;
      T* gxr = gx + r * cols;
      auto total = L::set(T(0));
      for_lanes<T>(cols, [&](i64 i, auto lanes) { total = total + L::load(gyr + i, lanes, T(0)); });
      const auto all = L::set(sum(total));
      for_lanes<T>(cols, [&](i64 i, auto lanes) {
        const L p = exp_lanes(L::load(yr + i, lanes, T(0)));
        (L::load(gyr + i, lanes, T(0)) - p * all).store(gxr + i, lanes, past);
      });
    }
    if (past) stream_end();
  });
}

#define SKEIN_INSTANTIATE(T)                                                \
  template void softmax(const T*, T*, i64, i64);                            \
  template void softmax_backward(const T*, const T*, T*, i64, i64);         \
  template void log_softmax(const T*, T*, i64, i64);                        \
  template void log_softmax_backward(const T*, const T*, T*, i64, i64);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
