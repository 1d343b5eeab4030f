// How the weight of an entry reaches its features, one struct per shape of the weights, for N vectors of features held
// in registers together: none, one per entry, one per vector, one per feature, or one per block of features that vectors
// do not respect.
//
// w is [*, cols]; block b of width / cols features takes column b. A weight is w · x_scale, rounded, and then multiplied.
#pragma once

#include <vector>

#include "support/lanes.h"

namespace skein {

template <class T>
struct EdgeWeights {
  const T* w;
  const T* x_scale;
  const i32* positions;
  i64 cols;
  const i32* column_of;  // of each feature, with room for a vector behind the last
  i64 first = 0;         // the entry whose weights w starts with, when there are no positions

  i64 position(i64 p) const { return positions == nullptr ? p - first : positions[p]; }
  T scale(i64 u) const { return x_scale == nullptr ? T(1) : x_scale[u]; }
  // Weights in the order of the entries come by themselves.
  void fetch(i64 p, i64 end) const {
    constexpr i64 kAhead = 24;
    if (positions != nullptr && w != nullptr && p + kAhead < end) __builtin_prefetch(w + positions[p + kAhead] * cols);
  }
};

inline std::vector<i32> feature_columns(i64 width, i64 cols) {
  std::vector<i32> column_of(static_cast<std::size_t>(width + 16));
  const i64 block = width / cols;
  for (i64 f = 0; f < width; ++f) column_of[f] = static_cast<i32>(f / block);
  return column_of;
}

// Where the vectors of a tile start, and how many lanes there are if that is less than a vector.
template <int N>
struct TileColumns {
  i64 at[N];
  int lanes;
};

template <class T, int N>
struct NoWeight {
  struct Entry {
    Lanes<T> times(int, const Lanes<T>& v) const { return v; }
  };
  NoWeight(const EdgeWeights<T>&, const TileColumns<N>&) {}
  Entry entry(i64, i64) const { return {}; }
};

template <class T, int N>
struct EntryWeight {
  struct Entry {
    Lanes<T> weight;
    Lanes<T> times(int, const Lanes<T>& v) const { return weight * v; }
  };
  const EdgeWeights<T>& all;
  EntryWeight(const EdgeWeights<T>& weights, const TileColumns<N>&) : all(weights) {}
  Entry entry(i64 p, i64 u) const {
    const T scale = all.scale(u);
    return {Lanes<T>::set(all.w == nullptr ? scale : scale * all.w[all.position(p)])};
  }
};

template <class T, int N>
struct VectorWeight {
  struct Entry {
    const T* w;
    T scale;
    const i32* column;
    Lanes<T> times(int k, const Lanes<T>& v) const { return Lanes<T>::set(scale * w[column[k]]) * v; }
  };
  const EdgeWeights<T>& all;
  i32 column[N];
  VectorWeight(const EdgeWeights<T>& weights, const TileColumns<N>& columns) : all(weights) {
    for (int k = 0; k < N; ++k) column[k] = weights.column_of[columns.at[k]];
  }
  Entry entry(i64 p, i64 u) const { return {all.w + all.position(p) * all.cols, all.scale(u), column}; }
};

template <class T, int N, bool partial>
struct FeatureWeight {
  struct Entry {
    const T* w;
    Lanes<T> scale;
    const TileColumns<N>& columns;
    Lanes<T> times(int k, const Lanes<T>& v) const {
      if constexpr (partial) return (scale * Lanes<T>::load(w, columns.lanes, T(0))) * v;
      else return (scale * Lanes<T>::load(w + columns.at[k])) * v;
    }
  };
  const EdgeWeights<T>& all;
  const TileColumns<N>& columns;
  FeatureWeight(const EdgeWeights<T>& weights, const TileColumns<N>& c) : all(weights), columns(c) {}
  Entry entry(i64 p, i64 u) const {
    return {all.w + all.position(p) * all.cols, Lanes<T>::set(all.scale(u)), columns};
  }
};

// w[column_of[i]] for the lanes i of one vector: a permutation where the weights of an entry fit into a register.
template <class T>
struct Spread {
  const i32* column_of;
  explicit Spread(const i32* from) : column_of(from) {}
  Lanes<T> read(const T* w, i64 cols) const;
};

#if defined(__AVX512F__)
template <>
inline Lanes<float> Spread<float>::read(const float* w, i64 cols) const {
  const __m512i index = _mm512_loadu_si512(column_of);
  if (cols > 16) return {{_mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, index, w, 4)}};
  const __m512 few = _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << cols) - 1), w);
  return {{_mm512_maskz_permutexvar_ps(0xffff, index, few)}};
}
template <>
inline Lanes<double> Spread<double>::read(const double* w, i64 cols) const {
  const __m256i index = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(column_of));
  if (cols > 8) return {{_mm512_mask_i32gather_pd(_mm512_setzero_pd(), 0xff, index, w, 8)}};
  const __m512d few = _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << cols) - 1), w);
  return {{_mm512_maskz_permutexvar_pd(0xff, _mm512_maskz_cvtepi32_epi64(0xff, index), few)}};
}
#elif defined(__AVX2__)
template <>
inline Lanes<float> Spread<float>::read(const float* w, i64 cols) const {
  const __m256i* index = reinterpret_cast<const __m256i*>(column_of);
  Lanes<float> r;
  if (cols > 8) {
    const __m256 none = _mm256_setzero_ps(), all = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    for (int k = 0; k < 2; ++k) r.part[k] = _mm256_mask_i32gather_ps(none, w, _mm256_loadu_si256(index + k), all, 4);
  } else {
    const __m256 few = load_some(w, static_cast<int>(cols), 0.0f);
    for (int k = 0; k < 2; ++k) r.part[k] = _mm256_permutevar8x32_ps(few, _mm256_loadu_si256(index + k));
  }
  return r;
}
template <>
inline Lanes<double> Spread<double>::read(const double* w, i64) const {
  const __m128i* index = reinterpret_cast<const __m128i*>(column_of);
  const __m256d none = _mm256_setzero_pd(), all = _mm256_castsi256_pd(_mm256_set1_epi32(-1));
  Lanes<double> r;
  for (int k = 0; k < 2; ++k) r.part[k] = _mm256_mask_i32gather_pd(none, w, _mm_loadu_si128(index + k), all, 8);
  return r;
}
#else
template <class T>
inline Lanes<T> Spread<T>::read(const T* w, i64) const {
  alignas(64) T t[Lanes<T>::count];
  for (int i = 0; i < Lanes<T>::count; ++i) t[i] = w[column_of[i]];
  return Lanes<T>::load(t);
}
#endif

template <class T, int N>
struct SpreadWeight {
  struct Entry {
    const T* w;
    Lanes<T> scale;
    const EdgeWeights<T>& all;
    const TileColumns<N>& columns;
    Lanes<T> times(int k, const Lanes<T>& v) const {
      return (scale * Spread<T>(all.column_of + columns.at[k]).read(w, all.cols)) * v;
    }
  };
  const EdgeWeights<T>& all;
  const TileColumns<N>& columns;
  SpreadWeight(const EdgeWeights<T>& weights, const TileColumns<N>& c) : all(weights), columns(c) {}
  Entry entry(i64 p, i64 u) const {
    return {all.w + all.position(p) * all.cols, Lanes<T>::set(all.scale(u)), all, columns};
  }
};

// Which of the structs serves weights of this shape.
enum class WeightKind { none, entry, vector, feature, spread };

template <class T>
inline WeightKind weight_kind(const EdgeWeights<T>& weights, i64 width) {
  if (weights.w == nullptr) return weights.x_scale == nullptr ? WeightKind::none : WeightKind::entry;
  if (weights.cols == 1) return WeightKind::entry;
  if (weights.cols == width) return WeightKind::feature;
  return width / weights.cols % Lanes<T>::count == 0 ? WeightKind::vector : WeightKind::spread;
}

}  // namespace skein
