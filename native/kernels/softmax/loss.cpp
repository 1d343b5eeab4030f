// Cross entropy over rows of logits, and binary cross entropy element by element.
//
// Losses per row: forward keeps one number per row (the log of the sum of exponentials); backward makes the
// probabilities again from it, so a matrix of probabilities is never stored. The total over rows has no upstream
// gradient to wait for: one pass gives loss and gradient, with one exponential per logit.
#include "softmax/loss.h"

#include <vector>

#include "softmax/softmax_row.h"

namespace skein {

// Rows whose logarithms are taken together: one at a time would cost as much as the row itself.
constexpr i64 kLogRows = 64;

template <class T>
void cross_entropy(const T* x, const i32* labels, T* loss, T* lse, i64 rows, i64 cols) {
  parallel_for(rows, row_grain(cols), [=](i64 chunk_begin, i64 chunk_end) {
    T tops[kLogRows], sums[kLogRows];
    for (i64 begin = chunk_begin; begin < chunk_end; begin += kLogRows) {
      const i64 count = begin + kLogRows < chunk_end ? kLogRows : chunk_end - begin;
      for (i64 i = 0; i < count; ++i) {
        const T* row = x + (begin + i) * cols;
        tops[i] = row_max(row, cols);
        sums[i] = row_sum_exp(row, tops[i], cols);
      }
      for (i64 i = 0; i < count; ++i) sums[i] = vm::log(sums[i]);
      for (i64 i = 0; i < count; ++i) {
        const i64 r = begin + i;
        lse[r] = tops[i] + sums[i];
        // The large numbers cancel first.
        loss[r] = labels[r] < 0 ? T(0) : (tops[i] - x[r * cols + labels[r]]) + sums[i];
      }
    }
  });
}

template <class T>
void cross_entropy_backward(const T* x, const i32* labels, const T* lse, const T* g_row, T* gx, i64 rows, i64 cols) {
  using L = Lanes<T>;
  const bool past = streamed(gx, rows, cols);
  parallel_for(rows, row_grain(cols), [=](i64 begin, i64 end) {
    for (i64 r = begin; r < end; ++r) {
      const T* row = x + r * cols;
      T* out = gx + r * cols;
      const i64 label = labels[r];
      if (label < 0) {
        for (i64 i = 0; i < cols; ++i) out[i] = T(0);
        continue;
      }
      const auto shift = L::set(lse[r]), g = L::set(g_row[r]);
      for_lanes<T>(cols, [&](i64 i, auto lanes) {
        const L p = exp_lanes(L::load(row + i, lanes, -vm::kInfinity<T>) - shift);
        (g * (p - L::one_hot(label - i))).store(out + i, lanes, past);
      });
    }
    if (past) stream_end();
  });
}

// The exponentials of a row below its maximum and their sum, in the row's share of the gradient.
template <class T>
inline T row_exp(const T* x, T top, T* e, i64 cols) {
  using L = Lanes<T>;
  const auto shift = L::set(top);
  auto total = L::set(T(0));
  for_lanes<T>(cols, [&](i64 i, auto lanes) {
    const L v = exp_lanes(L::load(x + i, lanes, -vm::kInfinity<T>) - shift);
    v.store(e + i, lanes);
    total = total + v;
  });
  return sum(total);
}

// From exponentials to g · (softmax − onehot).
template <class T>
inline void row_gradient(T* e, T total, T g, i64 label, i64 cols) {
  using L = Lanes<T>;
  const T inverse = T(1) / total, at_label = e[label];
  const auto scale = L::set(g * inverse);
  for_lanes<T>(cols, [&](i64 i, auto lanes) { (scale * L::load(e + i, lanes, T(0))).store(e + i, lanes); });
  e[label] = g * (at_label * inverse - T(1));
}

template <class T>
double cross_entropy_total(const T* x, const i32* labels, const T* weights, double factor, T* gx, i64 rows, i64 cols) {
  const i64 grain = row_grain(cols);
  std::vector<double> partial(static_cast<size_t>((rows + grain - 1) / grain));
  double* const partials = partial.data();
  parallel_for(rows, grain, [=](i64 chunk_begin, i64 chunk_end) {
    T below[kLogRows], sums[kLogRows], weight[kLogRows];
    double loss = 0;
    for (i64 begin = chunk_begin; begin < chunk_end; begin += kLogRows) {
      const i64 end = begin + kLogRows < chunk_end ? begin + kLogRows : chunk_end;
      i64 count = 0;
      for (i64 r = begin; r < end; ++r) {
        const T* row = x + r * cols;
        T* out = gx == nullptr ? nullptr : gx + r * cols;
        const i64 label = labels[r];
        if (label < 0) {
          for (i64 i = 0; out != nullptr && i < cols; ++i) out[i] = T(0);
          continue;
        }
        const T top = row_max(row, cols), w = weights == nullptr ? T(1) : weights[r];
        const T total = out == nullptr ? row_sum_exp(row, top, cols) : row_exp(row, top, out, cols);
        if (out != nullptr) row_gradient(out, total, static_cast<T>(factor) * w, label, cols);
        below[count] = top - row[label];
        sums[count] = total;
        weight[count++] = w;
      }
      for (i64 i = 0; i < count; ++i) sums[i] = vm::log(sums[i]);
      for (i64 i = 0; i < count; ++i) loss += static_cast<double>(weight[i] * (below[i] + sums[i]));
    }
    partials[chunk_begin / grain] = loss;
  });
  double loss = 0;
  for (const double part : partial) loss += part;
  return factor * loss;
}

template <class T>
void bce_with_logits(const T* x, const T* target, T* loss, i64 n) {
  parallel_for(n, kElementGrain, [=](i64 begin, i64 end) {
    const T* SKEIN_RESTRICT from = x;
    const T* SKEIN_RESTRICT wanted = target;
    T* SKEIN_RESTRICT to = loss;
    for (i64 i = begin; i < end; ++i) {
      const T v = from[i];
      to[i] = ((v > T(0) ? v : T(0)) - v * wanted[i]) + vm::softplus_tail(v);
    }
  });
}

template <class T>
void bce_with_logits_backward(const T* x, const T* target, const T* g, T* gx, i64 n) {
  parallel_for(n, kElementGrain, [=](i64 begin, i64 end) {
    const T* SKEIN_RESTRICT from = x;
    const T* SKEIN_RESTRICT wanted = target;
    const T* SKEIN_RESTRICT up = g;
    T* SKEIN_RESTRICT to = gx;
    for (i64 i = begin; i < end; ++i) to[i] = up[i] * (vm::sigmoid(from[i]) - wanted[i]);
  });
}

#define SKEIN_INSTANTIATE(T)                                                                          \
  template void cross_entropy(const T*, const i32*, T*, T*, i64, i64);                                \
  template void cross_entropy_backward(const T*, const i32*, const T*, const T*, T*, i64, i64);       \
  template double cross_entropy_total(const T*, const i32*, const T*, double, T*, i64, i64);          \
  template void bce_with_logits(const T*, const T*, T*, i64);                                         \
  template void bce_with_logits_backward(const T*, const T*, const T*, T*, i64);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
