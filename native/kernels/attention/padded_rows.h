// Products of a few rows that are in the first-level cache, padded with zeros to whole lanes.
//
// A dot product is one chain of fused steps in each lane, then a fold; a weighted sum is one chain over rising rows. Neither
// depends on how many rows and heads a register tile takes, nor on the vector width.
#pragma once

#include "support/lanes.h"

namespace skein {

// a b + c, rounded once where the machine can.
template <class T>
SKEIN_INLINE Lanes<T> mad(const Lanes<T>& a, const Lanes<T>& b, const Lanes<T>& c) {
  Lanes<T> r;
  for (int k = 0; k < Lanes<T>::parts; ++k) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) r.part[k] = _mm512_fmadd_ps(a.part[k], b.part[k], c.part[k]);
    else r.part[k] = _mm512_fmadd_pd(a.part[k], b.part[k], c.part[k]);
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4) r.part[k] = _mm256_fmadd_ps(a.part[k], b.part[k], c.part[k]);
    else r.part[k] = _mm256_fmadd_pd(a.part[k], b.part[k], c.part[k]);
#elif defined(SKEIN_NEON)
    if constexpr (sizeof(T) == 4) r.part[k] = vfmaq_f32(c.part[k], a.part[k], b.part[k]);
    else r.part[k] = vfmaq_f64(c.part[k], a.part[k], b.part[k]);
#else
    r.part[k] = a.part[k] * b.part[k] + c.part[k];
#endif
  }
  return r;
}

#if defined(__AVX512F__)
constexpr int kRowTile = 4, kStripTile = 4;
#else
constexpr int kRowTile = 2, kStripTile = 2;
#endif

template <class T>
constexpr i64 padded_width(i64 width) {
  return (width + Lanes<T>::count - 1) / Lanes<T>::count * Lanes<T>::count;
}

template <int R, int H, class T>
SKEIN_INLINE void dot_tile(const T* x, const T* q, i64 padded, T* out, i64 heads) {
  Lanes<T> total[R][H];
  for (int r = 0; r < R; ++r)
    for (int k = 0; k < H; ++k) total[r][k] = Lanes<T>::set(T(0));
  for (i64 f = 0; f < padded; f += Lanes<T>::count) {
    Lanes<T> own[H];
    for (int k = 0; k < H; ++k) own[k] = Lanes<T>::load(q + k * padded + f);
    for (int r = 0; r < R; ++r) {
      const auto row = Lanes<T>::load(x + r * padded + f);
      for (int k = 0; k < H; ++k) total[r][k] = mad(row, own[k], total[r][k]);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int k = 0; k < H; ++k) out[r * heads + k] = sum(total[r][k]);
}

template <int H, class T>
SKEIN_INLINE void dot_heads(const T* x, const T* q, i64 padded, T* out, i64 rows, i64 heads) {
  i64 r = 0;
  for (; r + kRowTile <= rows; r += kRowTile) dot_tile<kRowTile, H>(x + r * padded, q, padded, out + r * heads, heads);
  for (; r < rows; ++r) dot_tile<1, H>(x + r * padded, q, padded, out + r * heads, heads);
}

// out[r, k] = x[r]·q[k].
template <class T>
inline void row_dots(const T* x, const T* q, i64 padded, T* out, i64 rows, i64 heads) {
  i64 k = 0;
  for (; k + 2 <= heads; k += 2) dot_heads<2>(x, q + k * padded, padded, out + k, rows, heads);
  if (k < heads) dot_heads<1>(x, q + k * padded, padded, out + k, rows, heads);
}

template <int S, int H, class T>
SKEIN_INLINE void sum_tile(const T* x, const T* weights, i64 padded, T* out, i64 rows, i64 heads) {
  constexpr int C = Lanes<T>::count;
  Lanes<T> total[H][S];
  for (int k = 0; k < H; ++k)
    for (int s = 0; s < S; ++s) total[k][s] = Lanes<T>::load(out + k * padded + s * C);
  for (i64 r = 0; r < rows; ++r) {
    Lanes<T> share[H];
    for (int k = 0; k < H; ++k) share[k] = Lanes<T>::set(weights[r * heads + k]);
    for (int s = 0; s < S; ++s) {
      const auto row = Lanes<T>::load(x + r * padded + s * C);
      for (int k = 0; k < H; ++k) total[k][s] = mad(share[k], row, total[k][s]);
    }
  }
  for (int k = 0; k < H; ++k)
    for (int s = 0; s < S; ++s) total[k][s].store(out + k * padded + s * C);
}

template <int H, class T>
SKEIN_INLINE void sum_heads(const T* x, const T* weights, i64 padded, T* out, i64 rows, i64 heads) {
  constexpr i64 kStep = kStripTile * Lanes<T>::count;
  i64 f = 0;
  for (; f + kStep <= padded; f += kStep) sum_tile<kStripTile, H>(x + f, weights, padded, out + f, rows, heads);
  for (; f < padded; f += Lanes<T>::count) sum_tile<1, H>(x + f, weights, padded, out + f, rows, heads);
}

// out[k] += Σ weights[r, k] x[r].
template <class T>
inline void row_sums(const T* x, const T* weights, i64 padded, T* out, i64 rows, i64 heads) {
  i64 k = 0;
  for (; k + 2 <= heads; k += 2) sum_heads<2>(x, weights + k, padded, out + k * padded, rows, heads);
  if (k < heads) sum_heads<1>(x, weights + k, padded, out + k * padded, rows, heads);
}

// a[0] p[0] + c[0] g[0] + a[1] p[1] + … for one lane position of [heads, padded] rows p and g.
template <class T>
SKEIN_INLINE Lanes<T> mix_lanes(const T* a, const T* p, const T* c, const T* g, i64 padded, i64 heads) {
  auto total = Lanes<T>::set(T(0));
  for (i64 k = 0; k < heads; ++k) {
    total = mad(Lanes<T>::set(a[k]), Lanes<T>::load(p + k * padded), total);
    total = mad(Lanes<T>::set(c[k]), Lanes<T>::load(g + k * padded), total);
  }
  return total;
}

}  // namespace skein
