// 64 bytes of floats (16 float or 8 double) as one value, for every vector width of the machine: a reduction that keeps
// its partial results in these lanes and folds them with `sum` or `max` has the same order of operations, and so the
// same bits, at every level.
//
// `map` applies a scalar function to every lane; with the branch-free functions of vecmath.h it becomes vector code.
#pragma once

#include <cstring>

#include "support/common.h"
#include "support/instructions.h"
#include "rows/rows_stream.h"

namespace skein {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// Selects all lanes, where a number of lanes could be passed.
struct AllLanes {};

template <class T>
struct Lanes {
  static constexpr int count = 64 / static_cast<int>(sizeof(T));
  static constexpr int parts = 64 / kVectorBytes;
  static constexpr int width = kVectorBytes / static_cast<int>(sizeof(T));
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
  Vector part[parts];

  static inline Lanes set(T value) {
    Lanes r;
    for (int k = 0; k < parts; ++k) r.part[k] = value - Vector{};  // not value + 0: that would lose the sign of -0
    return r;
  }
  static inline Lanes load(const T* p) {
    Lanes r;
    for (int k = 0; k < parts; ++k) r.part[k] = *reinterpret_cast<const Unaligned*>(p + k * width);
    return r;
  }
  inline void store(T* p) const {
    for (int k = 0; k < parts; ++k) *reinterpret_cast<Unaligned*>(p + k * width) = part[k];
  }
  // The first n lanes (0 < n < count) from p, the others `fill`.
  static inline Lanes load(const T* p, int n, T fill);
  inline void store(T* p, int n) const;
  static inline Lanes load(const T* p, AllLanes, T) { return load(p); }
  inline void store(T* p, AllLanes) const { store(p); }
  // Past the cache when `streamed`, for which p must be aligned to 64 bytes; needs stream_end() at the end.
  inline void store(T* p, int n, bool) const { store(p, n); }
  inline void store(T* p, AllLanes, bool streamed) const {
    if (streamed) stream(p);
    else store(p);
  }
  inline void stream(T* p) const {
    alignas(64) T t[count];
    store(t);
    stream_line(reinterpret_cast<u8*>(p), reinterpret_cast<const u8*>(t));
  }

  // 1 in lane `position`, 0 elsewhere; all 0 when there is no such lane.
  static inline Lanes one_hot(i64 position) {
    Lanes r;
    const Vector wanted = static_cast<T>(position) - Vector{};
    for (int k = 0; k < parts; ++k) {
      Vector lane;
      for (int i = 0; i < width; ++i) lane[i] = static_cast<T>(k * width + i);
      r.part[k] = lane == wanted ? Vector{} + T(1) : Vector{};
    }
    return r;
  }
};

// Calls f(i, lanes) for i = 0, count, 2·count, … below n; lanes is AllLanes, or the number that is left at the end.
template <class T, class F>
inline void for_lanes(i64 n, F&& f) {
  i64 i = 0;
  for (; i + Lanes<T>::count <= n; i += Lanes<T>::count) f(i, AllLanes{});
  if (i < n) f(i, static_cast<int>(n - i));
}

// Whether a result of `rows` rows at p is large enough to be written past the cache, and in whole aligned lines.
template <class T>
inline bool streamed(const T* p, i64 rows, i64 cols) {
  return rows * cols * static_cast<i64>(sizeof(T)) >= kStreamBytes && cols % Lanes<T>::count == 0 &&
         reinterpret_cast<std::uintptr_t>(p) % kLineBytes == 0;
}

// Streamed stores of this thread become visible to others.
inline void stream_end() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// Rows per chunk for kernels that work on whole rows.
constexpr i64 row_grain(i64 cols) { return cols >= 16384 ? 1 : 16384 / (cols > 0 ? cols : 1); }

#define SKEIN_LANES_OPERATOR(op)                                                   \
  template <class T>                                                               \
  inline Lanes<T> operator op(const Lanes<T>& a, const Lanes<T>& b) {              \
    Lanes<T> r;                                                                    \
    for (int k = 0; k < Lanes<T>::parts; ++k) r.part[k] = a.part[k] op b.part[k];  \
    return r;                                                                      \
  }
SKEIN_LANES_OPERATOR(+)
SKEIN_LANES_OPERATOR(-)
SKEIN_LANES_OPERATOR(*)
SKEIN_LANES_OPERATOR(/)
#undef SKEIN_LANES_OPERATOR

// Lane by lane; b where the comparison fails, so a NaN in a is lost and one in b stays.
template <class T>
inline Lanes<T> maximum(const Lanes<T>& a, const Lanes<T>& b) {
  Lanes<T> r;
  for (int k = 0; k < Lanes<T>::parts; ++k) r.part[k] = a.part[k] > b.part[k] ? a.part[k] : b.part[k];
  return r;
}

template <class T, class F>
inline Lanes<T> map(const Lanes<T>& a, F f) {
  alignas(64) T t[Lanes<T>::count];
  a.store(t);
  for (int i = 0; i < Lanes<T>::count; ++i) t[i] = f(t[i]);
  return Lanes<T>::load(t);
}

// Folds halves onto each other: lane i takes lane i + count/2, then i + count/4, …
#if defined(__AVX2__)
template <class F>
inline float fold_vector(__m256 v, F f) {
  const __m128 four = f(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = f(four, _mm_movehl_ps(four, four));
  return f(two, _mm_movehdup_ps(two))[0];
}
template <class F>
inline double fold_vector(__m256d v, F f) {
  const __m128d two = f(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
  return f(two, _mm_unpackhi_pd(two, two))[0];
}
#endif
#if defined(__AVX512F__)
template <class F>
inline float fold_vector(__m512 v, F f) {
  return fold_vector(f(_mm512_maskz_extractf32x8_ps(0xff, v, 0), _mm512_maskz_extractf32x8_ps(0xff, v, 1)), f);
}
template <class F>
inline double fold_vector(__m512d v, F f) {
  return fold_vector(f(_mm512_maskz_extractf64x4_pd(0xf, v, 0), _mm512_maskz_extractf64x4_pd(0xf, v, 1)), f);
}
#elif defined(SKEIN_NEON)
template <class F>
inline float fold_vector(float32x4_t v, F f) {
  const float32x2_t two = f(vget_low_f32(v), vget_high_f32(v));
  return f(vget_lane_f32(two, 0), vget_lane_f32(two, 1));
}
template <class F>
inline double fold_vector(float64x2_t v, F f) {
  return f(vgetq_lane_f64(v, 0), vgetq_lane_f64(v, 1));
}
#elif !defined(__AVX2__)
template <class V, class F>
inline auto fold_vector(V v, F f) {
  if constexpr (sizeof(v[0]) == 4) return f(f(v[0], v[2]), f(v[1], v[3]));
  else return f(v[0], v[1]);
}
#endif

template <class T, class F>
inline T fold(Lanes<T> a, F f) {
  for (int half = Lanes<T>::parts / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) a.part[k] = f(a.part[k], a.part[k + half]);
  }
  return fold_vector(a.part[0], f);
}

template <class T>
inline T sum(const Lanes<T>& a) {
  return fold(a, [](auto x, auto y) { return x + y; });
}

template <class T>
inline T max(const Lanes<T>& a) {
  return fold(a, [](auto x, auto y) { return x > y ? x : y; });
}

#if defined(__AVX512F__)

template <>
inline Lanes<float> Lanes<float>::load(const float* p, int n, float fill) {
  return {{_mm512_mask_loadu_ps(_mm512_set1_ps(fill), static_cast<__mmask16>((1u << n) - 1), p)}};
}
template <>
inline Lanes<double> Lanes<double>::load(const double* p, int n, double fill) {
  return {{_mm512_mask_loadu_pd(_mm512_set1_pd(fill), static_cast<__mmask8>((1u << n) - 1), p)}};
}
template <>
inline void Lanes<float>::store(float* p, int n) const {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), part[0]);
}
template <>
inline void Lanes<double>::store(double* p, int n) const {
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1), part[0]);
}

#else

// n elements, fewer than a Lanes has, in chunks of descending size.
template <class T>
inline void copy_some(T* to, const T* from, int n) {
  int done = 0;
  for (int piece = Lanes<T>::count / 2; piece > 0; piece /= 2) {
    if ((n & piece) == 0) continue;
    std::memcpy(to + done, from + done, static_cast<size_t>(piece) * sizeof(T));
    done += piece;
  }
}

#if defined(__AVX2__)

inline __m256 load_some(const float* p, int n, float fill) {
  const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  return _mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask));
}
inline __m256d load_some(const double* p, int n, double fill) {
  const __m256i mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
  return _mm256_blendv_pd(_mm256_set1_pd(fill), _mm256_maskload_pd(p, mask), _mm256_castsi256_pd(mask));
}
template <class T>
inline Lanes<T> Lanes<T>::load(const T* p, int n, T fill) {
  Lanes r;
  for (int k = 0; k < parts; ++k) r.part[k] = load_some(p + k * width, n - k * width, fill);
  return r;
}

#else

template <class T>
inline Lanes<T> Lanes<T>::load(const T* p, int n, T fill) {
  alignas(64) T t[count];
  set(fill).store(t);
  copy_some(t, p, n);
  return load(t);
}

#endif

// Through memory: a masked store is microcoded on many processors.
template <class T>
inline void Lanes<T>::store(T* p, int n) const {
  alignas(64) T t[count];
  store(t);
  copy_some(p, t, n);
}

#endif

}  // namespace skein
