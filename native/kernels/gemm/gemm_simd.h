// The vector type under the GEMM kernels: one struct per element type and instruction set.
//
// `fma` is fused on AVX2, AVX-512 and NEON, and a product followed by a sum in the portable build. `relu` keeps NaN; `passed` is
// what a relu with result y lets through of the gradient g; `above` has bit i set where not a[i] <= b[i] (so for NaN too),
// `same` where a[i] == b[i]. Partial loads fill with zero, partial stores touch `count`
// elements only; a streamed store needs an address aligned to the vector. There is nothing here that mixes lanes: a lane is a column of c,
// so its value cannot depend on the vector width.
#pragma once

#include <cstring>

#include "support/common.h"
#include "support/instructions.h"
#if defined(SKEIN_NEON)
#include "gemm/gemm_simd_neon.h"
#endif

namespace skein {
namespace gemm_detail {

template <class T>
struct Simd;

#if defined(__AVX512F__)

template <>
struct Simd<float> {
  using V = __m512;
  static constexpr int width = 16;
  static V zero() { return _mm512_setzero_ps(); }
  static V set(float x) { return _mm512_set1_ps(x); }
  static V load(const float* p) { return _mm512_loadu_ps(p); }
  static V load(const float* p, int count) { return _mm512_maskz_loadu_ps(__mmask16((1u << count) - 1), p); }
  static void store(float* p, V v) { _mm512_storeu_ps(p, v); }
  static void stream(float* p, V v) { _mm512_stream_ps(p, v); }
  static void store(float* p, V v, int count) { _mm512_mask_storeu_ps(p, __mmask16((1u << count) - 1), v); }
  static V add(V a, V b) { return _mm512_add_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V relu(V v) { return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, zero(), _CMP_NLT_UQ), v); }
  static V passed(V g, V y) { return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(y, zero(), _CMP_NLE_UQ), g); }
  static u32 above(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_NLE_UQ); }
  static u32 same(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
};

template <>
struct Simd<double> {
  using V = __m512d;
  static constexpr int width = 8;
  static V zero() { return _mm512_setzero_pd(); }
  static V set(double x) { return _mm512_set1_pd(x); }
  static V load(const double* p) { return _mm512_loadu_pd(p); }
  static V load(const double* p, int count) { return _mm512_maskz_loadu_pd(__mmask8((1u << count) - 1), p); }
  static void store(double* p, V v) { _mm512_storeu_pd(p, v); }
  static void stream(double* p, V v) { _mm512_stream_pd(p, v); }
  static void store(double* p, V v, int count) { _mm512_mask_storeu_pd(p, __mmask8((1u << count) - 1), v); }
  static V add(V a, V b) { return _mm512_add_pd(a, b); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  static V relu(V v) { return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(v, zero(), _CMP_NLT_UQ), v); }
  static V passed(V g, V y) { return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(y, zero(), _CMP_NLE_UQ), g); }
  static u32 above(V a, V b) { return _mm512_cmp_pd_mask(a, b, _CMP_NLE_UQ); }
  static u32 same(V a, V b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
};

#elif defined(__AVX2__)

// Partial stores go by halves: a masked store is microcoded (tens of operations) on AMD processors.
template <>
struct Simd<float> {
  using V = __m256;
  static constexpr int width = 8;
  static V zero() { return _mm256_setzero_ps(); }
  static V set(float x) { return _mm256_set1_ps(x); }
  static V load(const float* p) { return _mm256_loadu_ps(p); }
  static V load(const float* p, int count) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(count), lane));
  }
  static void store(float* p, V v) { _mm256_storeu_ps(p, v); }
  static void stream(float* p, V v) { _mm256_stream_ps(p, v); }
  static void store(float* p, V v, int count) {
    if (count == 8) return store(p, v);
    __m128 part = _mm256_castps256_ps128(v);
    if (count & 4) {
      _mm_storeu_ps(p, part);
      part = _mm256_extractf128_ps(v, 1);
      p += 4;
    }
    if (count & 2) {
      _mm_storel_pi(reinterpret_cast<__m64*>(p), part);
      part = _mm_movehl_ps(part, part);
      p += 2;
    }
    if (count & 1) _mm_store_ss(p, part);
  }
  static V add(V a, V b) { return _mm256_add_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static V relu(V v) { return _mm256_and_ps(_mm256_cmp_ps(v, zero(), _CMP_NLT_UQ), v); }
  static V passed(V g, V y) { return _mm256_and_ps(_mm256_cmp_ps(y, zero(), _CMP_NLE_UQ), g); }
  static u32 above(V a, V b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NLE_UQ)); }
  static u32 same(V a, V b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)); }
};

template <>
struct Simd<double> {
  using V = __m256d;
  static constexpr int width = 4;
  static V zero() { return _mm256_setzero_pd(); }
  static V set(double x) { return _mm256_set1_pd(x); }
  static V load(const double* p) { return _mm256_loadu_pd(p); }
  static V load(const double* p, int count) {
    const __m256i lane = _mm256_setr_epi64x(0, 1, 2, 3);
    return _mm256_maskload_pd(p, _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), lane));
  }
  static void store(double* p, V v) { _mm256_storeu_pd(p, v); }
  static void stream(double* p, V v) { _mm256_stream_pd(p, v); }
  static void store(double* p, V v, int count) {
    if (count == 4) return store(p, v);
    __m128d part = _mm256_castpd256_pd128(v);
    if (count & 2) {
      _mm_storeu_pd(p, part);
      part = _mm256_extractf128_pd(v, 1);
      p += 2;
    }
    if (count & 1) _mm_store_sd(p, part);
  }
  static V add(V a, V b) { return _mm256_add_pd(a, b); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  static V relu(V v) { return _mm256_and_pd(_mm256_cmp_pd(v, zero(), _CMP_NLT_UQ), v); }
  static V passed(V g, V y) { return _mm256_and_pd(_mm256_cmp_pd(y, zero(), _CMP_NLE_UQ), g); }
  static u32 above(V a, V b) { return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_NLE_UQ)); }
  static u32 same(V a, V b) { return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_EQ_OQ)); }
};

#elif !defined(SKEIN_NEON)

template <class T>
struct Simd {
  typedef T V __attribute__((vector_size(16)));
  static constexpr int width = 16 / sizeof(T);
  static V zero() { return V{}; }
  static V set(T x) { return x - V{}; }  // x + 0 would lose the sign of -0
  static V load(const T* p) { return load(p, width); }
  static V load(const T* p, int count) {
    V v{};
    std::memcpy(&v, p, count * sizeof(T));
    return v;
  }
  static void store(T* p, V v) { std::memcpy(p, &v, sizeof v); }
  static void stream(T* p, V v) { store(p, v); }
  static void store(T* p, V v, int count) { std::memcpy(p, &v, count * sizeof(T)); }
  static V add(V a, V b) { return a + b; }
  static V fma(V a, V b, V c) { return a * b + c; }
  static V relu(V v) { return v < V{} ? V{} : v; }
  static V passed(V g, V y) { return y <= V{} ? V{} : g; }
  static u32 above(V a, V b) {
    u32 bits = 0;
    for (int i = 0; i < width; ++i) bits |= static_cast<u32>(!(a[i] <= b[i])) << i;
    return bits;
  }
  static u32 same(V a, V b) {
    u32 bits = 0;
    for (int i = 0; i < width; ++i) bits |= static_cast<u32>(a[i] == b[i]) << i;
    return bits;
  }
};

#endif

// Streamed stores are weakly ordered: they must be complete before another thread is notified that c is ready.
inline void finish_streams() {
#if defined(__AVX2__)
  _mm_sfence();
#endif
}

}  // namespace gemm_detail
}  // namespace skein
