// Elementwise forward kernels. Every loop is plain and vectorised by the compiler; `omp simd` states what restrict
// cannot: input and output are either different arrays or the very same one.
//
// Formulas follow PyTorch where it has to choose: gelu is the exact (erf) form, softplus(x) = x for x > 20,
// NaN passes through relu and clamp.
#include "elementwise/elementwise.h"

#include "support/op_codes.h"
#include "support/vecmath.h"

namespace skein {

template <class T, class F>
static inline void map(const T* x, T* y, i64 n, F f) {
  parallel_for(n, kElementGrain, [=](i64 begin, i64 end) {
#pragma omp simd
    for (i64 i = begin; i < end; ++i) y[i] = f(x[i]);
  });
}

template <class T>
static inline T gelu(T x) {
  T cumulative, density;
  vm::normal(x, cumulative, density);
  return x * cumulative;
}

template <class T>
static void activation(UnaryOp op, const T* x, T* y, i64 n, T alpha) {
  switch (op) {
    case UnaryOp::tanh: return map(x, y, n, [](T v) { return vm::tanh(v); });
    case UnaryOp::sigmoid: return map(x, y, n, [](T v) { return vm::sigmoid(v); });
    case UnaryOp::relu: return map(x, y, n, [](T v) { return v < T(0) ? T(0) : v; });
    case UnaryOp::leakyRelu: return map(x, y, n, [=](T v) { return v > T(0) ? v : v * alpha; });
    case UnaryOp::elu: return map(x, y, n, [=](T v) { return v > T(0) ? v : alpha * vm::expm1_negative(v); });
    case UnaryOp::gelu: return map(x, y, n, [](T v) { return gelu(v); });
    case UnaryOp::softplus: return map(x, y, n, [](T v) { return v > T(20) ? v : vm::softplus(v); });
    case UnaryOp::logSigmoid:
      return map(x, y, n, [](T v) { return (v < T(0) ? v : T(0)) - vm::softplus_tail(v); });
    default: return;
  }
}

template <class T>
void unary(i64 op, const T* x, T* y, i64 n, double alpha) {
  const UnaryOp code = static_cast<UnaryOp>(op);
  switch (code) {
    case UnaryOp::neg: return map(x, y, n, [](T v) { return -v; });
    case UnaryOp::abs: return map(x, y, n, [](T v) { return vm::absolute(v); });
    case UnaryOp::sign: return map(x, y, n, [](T v) { return v > T(0) ? T(1) : v < T(0) ? T(-1) : v; });
    case UnaryOp::square: return map(x, y, n, [](T v) { return v * v; });
    case UnaryOp::sqrt: return map(x, y, n, [](T v) { return std::sqrt(v); });
    case UnaryOp::reciprocal: return map(x, y, n, [](T v) { return T(1) / v; });
    case UnaryOp::exp: return map(x, y, n, [](T v) { return vm::exp(v); });
    case UnaryOp::log: return map(x, y, n, [](T v) { return vm::log(v); });
    case UnaryOp::sin:
      return parallel_for(n, kElementGrain, [=](i64 b, i64 e) { vm::sin_array(x + b, y + b, e - b); });
    case UnaryOp::cos:
      return parallel_for(n, kElementGrain, [=](i64 b, i64 e) { vm::cos_array(x + b, y + b, e - b); });
    default: return activation(code, x, y, n, static_cast<T>(alpha));
  }
}

template <class T>
void where(const u8* condition, const T* a, const T* b, T* y, i64 n) {
  parallel_for(n, kElementGrain, [=](i64 begin, i64 end) {
#pragma omp simd
    for (i64 i = begin; i < end; ++i) {
      // Both are loaded before the choice: a conditional load would not vectorise.
      const T left = a[i], right = b[i];
      y[i] = condition[i] != 0 ? left : right;
    }
  });
}

template <class T>
void clamp(const T* x, T* y, i64 n, double lo, double hi) {
  const T low = static_cast<T>(lo), high = static_cast<T>(hi);
  map(x, y, n, [=](T v) {
    const T raised = v < low ? low : v;
    return raised > high ? high : raised;
  });
}

template <class T>
void axpy(double scale, const T* x, T* y, i64 n) {
  const T factor = static_cast<T>(scale);
  parallel_for(n, kElementGrain, [=](i64 begin, i64 end) {
#pragma omp simd
    for (i64 i = begin; i < end; ++i) y[i] += factor * x[i];
  });
}

template <class T>
void scale(T* x, i64 n, double scale) {
  const T factor = static_cast<T>(scale);
  map(x, x, n, [=](T v) { return v * factor; });
}

template <class T>
void fill(T* x, i64 n, double value) {
  const T v = static_cast<T>(value);
  parallel_for(n, kElementGrain, [=](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) x[i] = v;
  });
}

#define SKEIN_INSTANTIATE(T)                                    \
  template void unary<T>(i64, const T*, T*, i64, double);       \
  template void where<T>(const u8*, const T*, const T*, T*, i64); \
  template void clamp<T>(const T*, T*, i64, double, double);    \
  template void axpy<T>(double, const T*, T*, i64);             \
  template void scale<T>(T*, i64, double);                      \
  template void fill<T>(T*, i64, double);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
