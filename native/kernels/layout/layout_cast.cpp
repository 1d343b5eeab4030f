// Conversion between storage types, by plain loops without branches that the compiler vectorises.
//
// To integers: truncated, then held in range, NaN becomes 0. To f16 and bf16: rounded to nearest, ties to even, once,
// whatever the source; every NaN becomes the same quiet one. f16 and bf16 are u16 here.
#include "layout/layout.h"

#include <type_traits>

#include "support/op_codes.h"
#include "support/vecmath_base.h"

namespace skein {

namespace {

struct F16 {
  u16 bits;
};
struct BF16 {
  u16 bits;
};

// f64 to f32 "to odd": truncated with the last bit set when anything was truncated. A second rounding to at most 22 bits
// then gives the same as one direct rounding.
inline float round_to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const double back = static_cast<double>(nearest);
  const u32 bits = vm::bit_cast<u32>(nearest);
  const u32 truncated = vm::absolute(back) > vm::absolute(x) ? bits - 1u : bits;
  return vm::bit_cast<float>(back != x && x == x ? truncated | 1u : bits);
}

inline F16 to_f16(float x) {
  const u32 sign = vm::bit_cast<u32>(x) & 0x80000000u;
  const u32 a = vm::bit_cast<u32>(x) ^ sign;
  // Below 2^-14 the result is subnormal: adding 0.5 rounds at its last bit, 2^-24, and leaves it in the low bits.
  const u32 small = vm::bit_cast<u32>(vm::bit_cast<float>(a) + 0.5f) - 0x3f000000u;
  const u32 normal = (a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13;
  u32 h = a < 0x38800000u ? small : normal;
  h = a >= 0x477ff000u ? 0x7c00u : h;
  h |= sign >> 16;
  return {static_cast<u16>(a > 0x7f800000u ? 0x7e00u : h)};
}

inline float from_f16(F16 h) {
  const u32 bits = h.bits;
  const u32 magnitude = (bits & 0x7fffu) << 13;
  // The exponent's bias is corrected by a product, which brings subnormals to normal form as well.
  const u32 value = vm::bit_cast<u32>(vm::bit_cast<float>(magnitude) * 0x1p112f);
  const u32 special = magnitude | 0x7f800000u;
  return vm::bit_cast<float>((magnitude >= 0x0f800000u ? special : value) | (bits & 0x8000u) << 16);
}

inline BF16 to_bf16(float x) {
  const u32 bits = vm::bit_cast<u32>(x);
  const u32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return {static_cast<u16>(x == x ? rounded : 0x7fc0u)};
}

inline float from_bf16(BF16 b) { return vm::bit_cast<float>(static_cast<u32>(b.bits) << 16); }

// A value as something the C++ conversions understand.
template <class S>
inline S widen(S x) {
  return x;
}
inline float widen(F16 x) { return from_f16(x); }
inline float widen(BF16 x) { return from_bf16(x); }

inline float round_for_half(float x) { return x; }
inline float round_for_half(double x) { return round_to_odd(x); }
inline float round_for_half(i32 x) { return round_to_odd(static_cast<double>(x)); }
inline float round_for_half(u8 x) { return static_cast<float>(x); }

inline i32 number(u8 x) { return x; }
template <class V>
inline V number(V x) {
  return x;
}

inline i32 truncate(i32 x, i32 lo, i32 hi) { return x < lo ? lo : x > hi ? hi : x; }

// The upper bound is compared as lo .. hi + 1, both exact in float and double; what remains truncates into range.
template <class V>
inline i32 truncate(V x, i32 lo, i32 hi) {
  const V low = static_cast<V>(lo), above = static_cast<V>(static_cast<double>(hi) + 1.0);
  const V value = x == x ? x : V(0);
  return value < above ? static_cast<i32>(value > low ? value : low) : hi;
}

template <class D, class S>
inline D convert(S source) {
  const auto x = widen(source);
  if constexpr (std::is_same_v<D, F16>) return to_f16(round_for_half(x));
  else if constexpr (std::is_same_v<D, BF16>) return to_bf16(round_for_half(x));
  else if constexpr (std::is_same_v<D, i32>) return truncate(number(x), INT32_MIN, INT32_MAX);
  else if constexpr (std::is_same_v<D, u8>) return static_cast<u8>(truncate(number(x), 0, 255));
  else return static_cast<D>(x);
}

template <class S, class D>
void cast_array(const void* src, void* dst, i64 n) {
  const S* SKEIN_RESTRICT from = static_cast<const S*>(src);
  D* SKEIN_RESTRICT to = static_cast<D*>(dst);
  parallel_for(n, kElementGrain, [=](i64 begin, i64 end) {
#pragma omp simd
    for (i64 i = begin; i < end; ++i) to[i] = convert<D>(from[i]);
  });
}

template <class S>
void cast_from(const void* src, void* dst, StorageType type, i64 n) {
  switch (type) {
    case StorageType::f32: return cast_array<S, float>(src, dst, n);
    case StorageType::f64: return cast_array<S, double>(src, dst, n);
    case StorageType::i32: return cast_array<S, i32>(src, dst, n);
    case StorageType::u8: return cast_array<S, u8>(src, dst, n);
    case StorageType::f16: return cast_array<S, F16>(src, dst, n);
    case StorageType::bf16: return cast_array<S, BF16>(src, dst, n);
  }
}

}  // namespace

void cast(const void* src, i64 src_type, void* dst, i64 dst_type, i64 n) {
  const StorageType to = static_cast<StorageType>(dst_type);
  switch (static_cast<StorageType>(src_type)) {
    case StorageType::f32: return cast_from<float>(src, dst, to, n);
    case StorageType::f64: return cast_from<double>(src, dst, to, n);
    case StorageType::i32: return cast_from<i32>(src, dst, to, n);
    case StorageType::u8: return cast_from<u8>(src, dst, to, n);
    case StorageType::f16: return cast_from<F16>(src, dst, to, n);
    case StorageType::bf16: return cast_from<BF16>(src, dst, to, n);
  }
}

}  // namespace skein
