// Broadcasting comparisons to 0 or 1; a NaN is unequal to everything and neither smaller nor greater.
#include "elementwise/binary.h"
#include "elementwise/binary_broadcast.h"
#include "support/op_codes.h"

namespace skein {

template <class T>
static void compare_any(i64 op, const T* a, const T* b, u8* y, i64 n, const i32* dims) {
  switch (static_cast<CompareOp>(op)) {
    case CompareOp::eq: return binary_map(a, b, y, n, dims, [](T u, T v) { return static_cast<u8>(u == v); });
    case CompareOp::ne: return binary_map(a, b, y, n, dims, [](T u, T v) { return static_cast<u8>(u != v); });
    case CompareOp::lt: return binary_map(a, b, y, n, dims, [](T u, T v) { return static_cast<u8>(u < v); });
    case CompareOp::le: return binary_map(a, b, y, n, dims, [](T u, T v) { return static_cast<u8>(u <= v); });
    case CompareOp::gt: return binary_map(a, b, y, n, dims, [](T u, T v) { return static_cast<u8>(u > v); });
    case CompareOp::ge: return binary_map(a, b, y, n, dims, [](T u, T v) { return static_cast<u8>(u >= v); });
  }
}

template <class T>
void compare(i64 op, const T* a, const T* b, u8* y, i64 n, const i32* dims) {
  compare_any(op, a, b, y, n, dims);
}

void compare_i32(i64 op, const i32* a, const i32* b, u8* y, i64 n, const i32* dims) {
  compare_any(op, a, b, y, n, dims);
}

template void compare<float>(i64, const float*, const float*, u8*, i64, const i32*);
template void compare<double>(i64, const double*, const double*, u8*, i64, const i32*);

}  // namespace skein
