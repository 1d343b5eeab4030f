// Gradients of the unary operations: gx = gy · op'(x), from the forward's input x or output y, whichever is cheaper
// without losing precision. At a kink the derivative is PyTorch's: 0 for abs and relu, the left one for leakyRelu.
#include "elementwise/elementwise.h"
#include "support/op_codes.h"
#include "support/vecmath.h"

namespace skein {

namespace {

// Passes to f only what it needs, so that a kernel reads no unused array. gx may be gy.
template <class T, class F>
inline void map_with(const T* saved, const T* gy, T* gx, i64 n, F f) {
  parallel_for(n, kElementGrain, [=](i64 begin, i64 end) {
#pragma omp simd
    for (i64 i = begin; i < end; ++i) gx[i] = f(saved[i], gy[i]);
  });
}

// For sin and cos: their array forms need a whole block.
template <class T, class F>
inline void map_trig(const T* x, const T* gy, T* gx, i64 n, T sign, F array_function) {
  constexpr i64 kBlock = 256;
  parallel_for(n, kElementGrain, [=](i64 begin, i64 end) {
    T derivative[kBlock];
    for (i64 start = begin; start < end; start += kBlock) {
      const i64 size = end - start < kBlock ? end - start : kBlock;
      array_function(x + start, derivative, size);
#pragma omp simd
      for (i64 i = 0; i < size; ++i) gx[start + i] = gy[start + i] * (sign * derivative[i]);
    }
  });
}

template <class T>
void activation_backward(UnaryOp op, const T* x, const T* y, const T* gy, T* gx, i64 n, T alpha) {
  switch (op) {
    case UnaryOp::tanh: return map_with(y, gy, gx, n, [](T v, T g) { return g * (T(1) - v * v); });
    case UnaryOp::sigmoid: return map_with(y, gy, gx, n, [](T v, T g) { return g * (v * (T(1) - v)); });
    case UnaryOp::relu: return map_with(x, gy, gx, n, [](T v, T g) { return v <= T(0) ? T(0) : g; });
    case UnaryOp::leakyRelu: return map_with(x, gy, gx, n, [=](T v, T g) { return v > T(0) ? g : g * alpha; });
    case UnaryOp::elu:
      return map_with(x, gy, gx, n, [=](T v, T g) { return v > T(0) ? g : g * (alpha * vm::exp(v)); });
    case UnaryOp::gelu:
      return map_with(x, gy, gx, n, [](T v, T g) {
        T cumulative, density;
        vm::normal(v, cumulative, density);
        return g * vm::mad(v, density, cumulative);
      });
    case UnaryOp::softplus:
      return map_with(x, gy, gx, n, [](T v, T g) { return v > T(20) ? g : g * vm::sigmoid(v); });
    case UnaryOp::logSigmoid: return map_with(x, gy, gx, n, [](T v, T g) { return g * vm::sigmoid(-v); });
    default: return;
  }
}

}  // namespace

template <class T>
void unary_backward(i64 op, const T* x, const T* y, const T* gy, T* gx, i64 n, double alpha) {
  const UnaryOp code = static_cast<UnaryOp>(op);
  switch (code) {
    case UnaryOp::neg: return map_with(gy, gy, gx, n, [](T, T g) { return -g; });
    case UnaryOp::abs:
      return map_with(x, gy, gx, n, [](T v, T g) { return v > T(0) ? g : v < T(0) ? -g : v * T(0); });
    case UnaryOp::sign: return fill(gx, n, 0.0);
    case UnaryOp::square: return map_with(x, gy, gx, n, [](T v, T g) { return g * (v + v); });
    case UnaryOp::sqrt: return map_with(y, gy, gx, n, [](T v, T g) { return g / (v + v); });
    case UnaryOp::reciprocal: return map_with(y, gy, gx, n, [](T v, T g) { return -g * (v * v); });
    case UnaryOp::exp: return map_with(y, gy, gx, n, [](T v, T g) { return g * v; });
    case UnaryOp::log: return map_with(x, gy, gx, n, [](T v, T g) { return g / v; });
    case UnaryOp::sin:
      return map_trig(x, gy, gx, n, T(1), [](const T* in, T* out, i64 size) { vm::cos_array(in, out, size); });
    case UnaryOp::cos:
      return map_trig(x, gy, gx, n, T(-1), [](const T* in, T* out, i64 size) { vm::sin_array(in, out, size); });
    default: return activation_backward(code, x, y, gy, gx, n, static_cast<T>(alpha));
  }
}

template void unary_backward<float>(i64, const float*, const float*, const float*, float*, i64, double);
template void unary_backward<double>(i64, const double*, const double*, const double*, double*, i64, double);

}  // namespace skein
