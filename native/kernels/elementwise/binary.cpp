// Broadcasting arithmetic. maximum and minimum give NaN when either side is NaN; i32 wraps around, divides towards
// zero (by zero: 0), and takes a negative power as the truncated fraction.
#include "elementwise/binary.h"

#include <cmath>

#include "elementwise/binary_broadcast.h"
#include "support/op_codes.h"

namespace skein {

template <class T>
void binary(i64 op, const T* a, const T* b, T* y, i64 n, const i32* dims) {
  switch (static_cast<BinaryOp>(op)) {
    case BinaryOp::add: return binary_map(a, b, y, n, dims, [](T u, T v) { return u + v; });
    case BinaryOp::sub: return binary_map(a, b, y, n, dims, [](T u, T v) { return u - v; });
    case BinaryOp::mul: return binary_map(a, b, y, n, dims, [](T u, T v) { return u * v; });
    case BinaryOp::div: return binary_map(a, b, y, n, dims, [](T u, T v) { return u / v; });
    case BinaryOp::pow: return binary_map(a, b, y, n, dims, [](T u, T v) { return std::pow(u, v); });
    // A comparison with NaN is false, so a NaN on the right is taken without a separate test.
    case BinaryOp::maximum: return binary_map(a, b, y, n, dims, [](T u, T v) { return (u > v) | (u != u) ? u : v; });
    case BinaryOp::minimum: return binary_map(a, b, y, n, dims, [](T u, T v) { return (u < v) | (u != u) ? u : v; });
  }
}

static i32 wrapped(u32 value) { return static_cast<i32>(value); }

static i32 divide(i32 u, i32 v) {
  if (v == 0) return 0;
  if (v == -1) return wrapped(0u - static_cast<u32>(u));
  return u / v;
}

static i32 power(i32 base, i32 exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return (exponent & 1) != 0 ? -1 : 1;
    return 0;
  }
  u32 result = 1;
  u32 factor = static_cast<u32>(base);
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= factor;
    factor *= factor;
  }
  return wrapped(result);
}

void binary_i32(i64 op, const i32* a, const i32* b, i32* y, i64 n, const i32* dims) {
  switch (static_cast<BinaryOp>(op)) {
    case BinaryOp::add: return binary_map(a, b, y, n, dims, [](u32 u, u32 v) { return wrapped(u + v); });
    case BinaryOp::sub: return binary_map(a, b, y, n, dims, [](u32 u, u32 v) { return wrapped(u - v); });
    case BinaryOp::mul: return binary_map(a, b, y, n, dims, [](u32 u, u32 v) { return wrapped(u * v); });
    case BinaryOp::div: return binary_map(a, b, y, n, dims, [](i32 u, i32 v) { return divide(u, v); });
    case BinaryOp::pow: return binary_map(a, b, y, n, dims, [](i32 u, i32 v) { return power(u, v); });
    case BinaryOp::maximum: return binary_map(a, b, y, n, dims, [](i32 u, i32 v) { return u > v ? u : v; });
    case BinaryOp::minimum: return binary_map(a, b, y, n, dims, [](i32 u, i32 v) { return u < v ? u : v; });
  }
}

template void binary<float>(i64, const float*, const float*, float*, i64, const i32*);
template void binary<double>(i64, const double*, const double*, double*, i64, const i32*);

}  // namespace skein
