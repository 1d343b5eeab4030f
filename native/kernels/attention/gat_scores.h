// Shared by attention and its gradient: the sums el + er + ee of a chunk of rows, and the dropout of attention.
#pragma once

#include "attention/head_scores.h"
#include "sparse/offsets.h"
#include "random/philox_rows.h"

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
    HeadVector<T, H == 0 ? 1 : H> shared{};
    if constexpr (H > 0) shared = HeadVector<T, H>::load(own);
    for (i64 p = begin; p < stop; ++p, to += many) {
      if (p + kAhead < end) __builtin_prefetch(el + static_cast<i64>(indices[p + kAhead]) * many);
      const T* from = el + static_cast<i64>(indices[p]) * many;
      if constexpr (H > 0) {
        auto all = HeadVector<T, H>::load(from);
        all.v += shared.v;
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

  // to = leakyRelu(from); `to` may be `from`.
  void leaky(const T* from, i64 n, T* to) const {
    const T leak = slope;  // a copy, because `to` might point at the member as far as the compiler can tell
#pragma GCC ivdep
    for (i64 i = 0; i < n; ++i) to[i] = from[i] > T(0) ? from[i] : leak * from[i];
  }
};

// Attention dropout, with the decisions of dropout_rows for the entries' ids, or of dropout for their positions without ids.
template <class T>
struct AttentionMask {
  const u32* key;
  const i32* ids;  // may be null
  i64 heads;
  u64 bound;
  T scale;

  AttentionMask(const u32* k, const i32* entry_ids, i64 many, double drop)
      : key(k), ids(entry_ids), heads(many), bound(philox_threshold(drop)), scale(static_cast<T>(1.0 / (1.0 - drop))) {}

  // Drops or scales the numbers of entries first … first + entries − 1 in v, and in also (may be null).
  void apply(i64 first, i64 entries, T* v, T* also) const {
    if (key == nullptr) return;
    const i64 n = entries * heads;
    if (bound > 0xffffffffull) {  // all are dropped
      for (i64 i = 0; i < n; ++i) v[i] = T(0);
      for (i64 i = 0; i < n && also != nullptr; ++i) also[i] = T(0);
      return;
    }
    const u32 threshold = static_cast<u32>(bound);
    const auto decide = [=](const u32* words, i64 offset, i64 count) {
      select(words, threshold, scale, count, v + offset);
      if (also != nullptr) select(words, threshold, scale, count, also + offset);
    };
    if (ids == nullptr) return philox_words(key, static_cast<u64>(first * heads), n, decide);
    philox_rows(key, entries, heads, [=](i64 i) { return row_word(ids[first + i], heads); }, decide);
  }

 private:
  static void select(const u32* SKEIN_RESTRICT words, u32 threshold, T factor, i64 n, T* SKEIN_RESTRICT v) {
    for (i64 i = 0; i < n; ++i) {
      const T scaled = v[i] * factor;
      v[i] = words[i] >= threshold ? scaled : T(0);
    }
  }
};

}  // namespace skein
