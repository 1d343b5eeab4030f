// What the two directions of attention share: the sums el + er + ee of a chunk of rows, and the dropout of attention.
#pragma once

#include "head_scores.h"
#include "offsets.h"
#include "philox.h"

namespace skein {

template <class T>
struct GatScores {
  const T* el;
  const T* er;
  const T* ee;  // may be null
  const i32* indices;
  i64 heads;
  i64 end;  // of the entries
  T slope;

  // to[p - begin, :] for the entries of row r.
  template <int H>
  void sums(i64 r, i64 begin, i64 stop, T* to) const {
    constexpr i64 kAhead = 32;
    const i64 many = H > 0 ? H : heads;
    const T* own = er + r * many;
    for (i64 p = begin; p < stop; ++p, to += many) {
      if (p + kAhead < end) __builtin_prefetch(el + static_cast<i64>(indices[p + kAhead]) * many);
      const T* from = el + static_cast<i64>(indices[p]) * many;
      if constexpr (H > 0) {
        auto all = HeadVector<T, H>::load(from);
        all.v += HeadVector<T, H>::load(own).v;
        all.store(to);
      } else {
        for (i64 h = 0; h < many; ++h) to[h] = from[h] + own[h];
      }
    }
    if (ee == nullptr) return;
    const T* more = ee + begin * many;
    to -= (stop - begin) * many;
    for (i64 i = 0; i < (stop - begin) * many; ++i) to[i] += more[i];
  }

  T leaky(T sum) const { return sum > T(0) ? sum : slope * sum; }
};

// The factors of attention dropout: those of the dropout kernel for the same element.
template <class T>
struct AttentionMask {
  const u32* key;
  u64 bound;
  T scale;

  AttentionMask(const u32* k, double drop)
      : key(k), bound(philox_threshold(drop)), scale(static_cast<T>(1.0 / (1.0 - drop))) {}
  bool active() const { return key != nullptr; }

  // Calls f(i, kept) for the elements first + i.
  template <class F>
  void each(i64 first, i64 n, F f) const {
    philox_words(key, static_cast<u64>(first), n, [&](const u32* words, i64 offset, i64 count) {
      if (bound > 0xffffffffull) {
        for (i64 i = 0; i < count; ++i) f(offset + i, false);
        return;
      }
      const u32 threshold = static_cast<u32>(bound);
#pragma GCC ivdep
      for (i64 i = 0; i < count; ++i) f(offset + i, words[i] >= threshold);
    });
  }
};

}  // namespace skein
