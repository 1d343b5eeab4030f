// The vectors of gemm_simd.h for NEON (64-bit ARM): 4 floats or 2 doubles, multiply-adds fused.
#pragma once

#include "support/common.h"
#include "support/instructions.h"

namespace skein {
namespace gemm_detail {

template <class T>
struct Simd;

template <>
struct Simd<float> {
  using V = float32x4_t;
  static constexpr int width = 4;
  static V zero() { return vdupq_n_f32(0); }
  static V set(float x) { return vdupq_n_f32(x); }
  static V load(const float* p) { return vld1q_f32(p); }
  static V load(const float* p, int count) {
    if (count == 4) return load(p);
    float32x2_t low = vdup_n_f32(0), high = vdup_n_f32(0);
    if (count & 2) {
      low = vld1_f32(p);
      if (count & 1) high = vld1_lane_f32(p + 2, high, 0);
    } else if (count & 1) {
      low = vld1_lane_f32(p, low, 0);
    }
    return vcombine_f32(low, high);
  }
  static void store(float* p, V v) { vst1q_f32(p, v); }
  static void stream(float* p, V v) { store(p, v); }
  static void store(float* p, V v, int count) {
    if (count == 4) return store(p, v);
    float32x2_t part = vget_low_f32(v);
    if (count & 2) {
      vst1_f32(p, part);
      part = vget_high_f32(v);
      p += 2;
    }
    if (count & 1) vst1_lane_f32(p, part, 0);
  }
  static V add(V a, V b) { return vaddq_f32(a, b); }
  static V fma(V a, V b, V c) { return vfmaq_f32(c, a, b); }
  static V relu(V v) { return cleared(v, vcltzq_f32(v)); }
  static V passed(V g, V y) { return cleared(g, vclezq_f32(y)); }
  static u32 above(V a, V b) { return bits(vmvnq_u32(vcleq_f32(a, b))); }
  static u32 same(V a, V b) { return bits(vceqq_f32(a, b)); }

 private:
  // Zero where the mask is set.
  static V cleared(V v, uint32x4_t mask) { return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(v), mask)); }
  static u32 bits(uint32x4_t mask) {
    const uint32x4_t place = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(mask, place));
  }
};

template <>
struct Simd<double> {
  using V = float64x2_t;
  static constexpr int width = 2;
  static V zero() { return vdupq_n_f64(0); }
  static V set(double x) { return vdupq_n_f64(x); }
  static V load(const double* p) { return vld1q_f64(p); }
  static V load(const double* p, int count) {
    if (count == 2) return load(p);
    return count == 1 ? vld1q_lane_f64(p, zero(), 0) : zero();
  }
  static void store(double* p, V v) { vst1q_f64(p, v); }
  static void stream(double* p, V v) { store(p, v); }
  static void store(double* p, V v, int count) {
    if (count == 2) store(p, v);
    else if (count == 1) vst1q_lane_f64(p, v, 0);
  }
  static V add(V a, V b) { return vaddq_f64(a, b); }
  static V fma(V a, V b, V c) { return vfmaq_f64(c, a, b); }
  static V relu(V v) { return cleared(v, vcltzq_f64(v)); }
  static V passed(V g, V y) { return cleared(g, vclezq_f64(y)); }
  static u32 above(V a, V b) { return 3u ^ bits(vcleq_f64(a, b)); }
  static u32 same(V a, V b) { return bits(vceqq_f64(a, b)); }

 private:
  static V cleared(V v, uint64x2_t mask) { return vreinterpretq_f64_u64(vbicq_u64(vreinterpretq_u64_f64(v), mask)); }
  static u32 bits(uint64x2_t mask) {
    const uint64x2_t place = {1, 2};
    return static_cast<u32>(vaddvq_u64(vandq_u64(mask, place)));
  }
};

}  // namespace gemm_detail
}  // namespace skein
