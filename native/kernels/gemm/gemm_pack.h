// Copies of a and b in the order in which the tiles read them, and the scratch memory that holds the copies.
//
// b is packed in panels of two vectors of columns, [k][columns], with zeros beyond column n; the padding meets only
// lanes that are never stored. a is copied without reordering (see pack_a_*): tiles read it by broadcast, so all that
// matters is that a block sits close together and that its rows do not share cache sets.
#pragma once

#include <algorithm>
#include <new>

#include "../platform/platform.h"
#include "gemm/gemm_simd.h"

namespace skein {
namespace gemm_detail {

// Memory that grows to the largest request and stays with its thread, so that a call does not allocate and calls
// from several threads do not meet. Huge pages are requested for large blocks: a packed b is swept many times.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { platform::free_aligned(data_); }

  template <class T>
  T* get(i64 count) {
    const std::size_t need = static_cast<std::size_t>(count) * sizeof(T);
    if (need > size_) grow(need);
    return static_cast<T*>(data_);
  }

 private:
  static constexpr std::size_t kHuge = std::size_t{1} << 21;

  void grow(std::size_t need) {
    platform::free_aligned(data_);
    data_ = nullptr;
    size_ = 0;
    const std::size_t unit = need >= kHuge ? kHuge : 4096;
    const std::size_t bytes = (need + unit - 1) / unit * unit;
    data_ = platform::allocate_aligned(unit, bytes);
    if (!data_) throw std::bad_alloc();
    platform::advise_huge_pages(data_, bytes, 1);
    size_ = bytes;
  }

  void* data_ = nullptr;
  std::size_t size_ = 0;
};

#if defined(__AVX2__)

// out[p * stride + r] = in[r * ld + p] for an 8 x 8 (float) or 4 x 4 (double) square.
constexpr int square_of(const float*) { return 8; }
constexpr int square_of(const double*) { return 4; }

inline void transpose_square(const float* in, i64 ld, float* out, i64 stride) {
  __m256 r[8], s[8];
#pragma GCC unroll 8
  for (int i = 0; i < 4; ++i) {  // low and high halves of rows i and i + 4 side by side
    const float *p = in + i * ld, *q = in + (i + 4) * ld;
    r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(q), 1);
    r[i + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p + 4)), _mm_loadu_ps(q + 4), 1);
  }
#pragma GCC unroll 8
  for (int h = 0; h < 8; h += 4) {
    s[h] = _mm256_unpacklo_ps(r[h], r[h + 1]);
    s[h + 1] = _mm256_unpackhi_ps(r[h], r[h + 1]);
    s[h + 2] = _mm256_unpacklo_ps(r[h + 2], r[h + 3]);
    s[h + 3] = _mm256_unpackhi_ps(r[h + 2], r[h + 3]);
    float* o = out + h * stride;
    _mm256_storeu_ps(o, _mm256_shuffle_ps(s[h], s[h + 2], 0x44));
    _mm256_storeu_ps(o + stride, _mm256_shuffle_ps(s[h], s[h + 2], 0xee));
    _mm256_storeu_ps(o + 2 * stride, _mm256_shuffle_ps(s[h + 1], s[h + 3], 0x44));
    _mm256_storeu_ps(o + 3 * stride, _mm256_shuffle_ps(s[h + 1], s[h + 3], 0xee));
  }
}

inline void transpose_square(const double* in, i64 ld, double* out, i64 stride) {
  __m256d r[4];
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {  // low and high halves of rows i and i + 2 side by side
    const double *p = in + i * ld, *q = in + (i + 2) * ld;
    r[i] = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(p)), _mm_loadu_pd(q), 1);
    r[i + 2] = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(p + 2)), _mm_loadu_pd(q + 2), 1);
  }
  _mm256_storeu_pd(out, _mm256_unpacklo_pd(r[0], r[1]));
  _mm256_storeu_pd(out + stride, _mm256_unpackhi_pd(r[0], r[1]));
  _mm256_storeu_pd(out + 2 * stride, _mm256_unpacklo_pd(r[2], r[3]));
  _mm256_storeu_pd(out + 3 * stride, _mm256_unpackhi_pd(r[2], r[3]));
}

#elif defined(SKEIN_NEON)

// out[p * stride + r] = in[r * ld + p] for a 4 x 4 (float) or 2 x 2 (double) square.
constexpr int square_of(const float*) { return 4; }
constexpr int square_of(const double*) { return 2; }

inline void transpose_square(const float* in, i64 ld, float* out, i64 stride) {
  const float32x4_t a = vld1q_f32(in), b = vld1q_f32(in + ld), c = vld1q_f32(in + 2 * ld), d = vld1q_f32(in + 3 * ld);
  const float32x4_t ac = vzip1q_f32(a, c), bd = vzip1q_f32(b, d), ac2 = vzip2q_f32(a, c), bd2 = vzip2q_f32(b, d);
  vst1q_f32(out, vzip1q_f32(ac, bd));
  vst1q_f32(out + stride, vzip2q_f32(ac, bd));
  vst1q_f32(out + 2 * stride, vzip1q_f32(ac2, bd2));
  vst1q_f32(out + 3 * stride, vzip2q_f32(ac2, bd2));
}

inline void transpose_square(const double* in, i64 ld, double* out, i64 stride) {
  const float64x2_t a = vld1q_f64(in), b = vld1q_f64(in + ld);
  vst1q_f64(out, vzip1q_f64(a, b));
  vst1q_f64(out + stride, vzip2q_f64(a, b));
}

#else

template <class T>
constexpr int square_of(const T*) {
  return 4;
}

template <class T>
inline void transpose_square(const T* in, i64 ld, T* out, i64 stride) {
  for (int r = 0; r < 4; ++r) {
    for (int p = 0; p < 4; ++p) out[p * stride + r] = in[r * ld + p];
  }
}

#endif

// One panel of b stored as [k,n]: out[p][j] = b[p * ldb + j] for j < columns, 0 up to `padded` (1 or 2 vectors).
template <class T>
void pack_b_plain(const T* b, i64 ldb, i64 k, int columns, int padded, T* out) {
  using S = Simd<T>;
  constexpr int W = S::width;
  if (padded == 2 * W) {
    const int tail = columns - W;
    for (i64 p = 0; p < k; ++p, b += ldb, out += 2 * W) {
      S::store(out, S::load(b));
      S::store(out + W, tail == W ? S::load(b + W) : S::load(b + W, tail));
    }
  } else {
    for (i64 p = 0; p < k; ++p, b += ldb, out += W) S::store(out, S::load(b, columns));
  }
}

// Packs b stored as [n,k]: out[p][j] = b[j * ldb + p].
template <class T>
void pack_b_transposed(const T* b, i64 ldb, i64 k, int columns, int padded, T* out) {
  constexpr int Q = square_of(static_cast<const T*>(nullptr));
  const i64 k_squares = k / Q * Q;
  int j = 0;
  for (; j + Q <= columns; j += Q) {
    const T* in = b + j * ldb;
    for (i64 p = 0; p < k_squares; p += Q) transpose_square(in + p, ldb, out + p * padded + j, padded);
    for (i64 p = k_squares; p < k; ++p) {
      for (int r = 0; r < Q; ++r) out[p * padded + j + r] = in[r * ldb + p];
    }
  }
  for (; j < padded; ++j) {
    for (i64 p = 0; p < k; ++p) out[p * padded + j] = j < columns ? b[j * ldb + p] : T(0);
  }
}

// Rows of a stored as [m,k], moved to row stride `stride`.
template <class T>
void pack_a_rows(const T* a, i64 lda, i64 rows, i64 k, T* out, i64 stride) {
  for (i64 r = 0; r < rows; ++r) std::memcpy(out + r * stride, a + r * lda, static_cast<std::size_t>(k) * sizeof(T));
}

// Rows of a stored as [k,m], moved to [k][padded], whole vectors each; a points at the first row's first element.
template <class T>
void pack_a_columns(const T* a, i64 lda, int rows, int padded, i64 k, T* out) {
  using S = Simd<T>;
  constexpr int W = S::width;
  for (i64 p = 0; p < k; ++p, a += lda, out += padded) {
    int r = 0;
    for (; r + W <= rows; r += W) S::store(out + r, S::load(a + r));
    if (r < rows) S::store(out + r, S::load(a + r, rows - r));
  }
}

}  // namespace gemm_detail
}  // namespace skein
