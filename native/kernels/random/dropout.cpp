// Dropout: one random word per element, compared with p·2^32. The work is Philox and memory traffic; the words of a
// chunk stay in the first-level cache between the generator and the comparison.
#include "random/dropout.h"

#include "support/lanes.h"
#include "random/philox_rows.h"

namespace skein {
namespace {

// y = x scaled where the word is at least `bound`, which may be 2^32; 0 elsewhere, also for infinities and NaN.
template <class T>
struct Keep {
  u64 bound;
  T scale;

  explicit Keep(double p) : bound(philox_threshold(p)), scale(static_cast<T>(1.0 / (1.0 - p))) {}

  void operator()(const u32* words, i64 n, const T* x, T* y) const {
    for (i64 i = 0; i < n; ++i) {
      const T scaled = x[i] * scale;
      y[i] = words[i] >= bound ? scaled : T(0);
    }
  }
};

}  // namespace

template <class T>
void dropout(const T* x, T* y, i64 n, double p, const u32* key) {
  const u64 bound = philox_threshold(p);
  if (bound > 0xffffffffull) {  // p = 1 drops all, also infinities and NaN
    parallel_for(n, kElementGrain, [=](i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i) y[i] = T(0);
    });
    return;
  }
  const u32 threshold = static_cast<u32>(bound);
  const T scale = static_cast<T>(1.0 / (1.0 - p));
  const bool past = streamed(y, n / Lanes<T>::count, Lanes<T>::count);
  parallel_for(n, kElementGrain, [=](i64 begin, i64 end) {
    philox_words(key, static_cast<u64>(begin), end - begin, [=](const u32* words, i64 offset, i64 count) {
      alignas(64) T kept[kPhiloxPiece];
      const T* from = x + begin + offset;
      T* to = y + begin + offset;
      for (i64 i = 0; i < count; ++i) {
        const T scaled = from[i] * scale;
        kept[i] = words[i] >= threshold ? scaled : T(0);
      }
      for_lanes<T>(count, [=, &kept](i64 i, auto lanes) {
        Lanes<T>::load(kept + i, lanes, T(0)).store(to + i, lanes, past);
      });
    });
    if (past) stream_end();
  });
}

template <class T>
void dropout_rows(const T* x, const i32* ids, T* y, i64 rows, i64 width, double p, const u32* key) {
  const Keep<T> keep(p);
  const i64 grain = kElementGrain / (width > 0 ? width : 1);
  parallel_for(rows, grain > 0 ? grain : 1, [=](i64 begin, i64 end) {
    const T* from = x + begin * width;
    T* to = y + begin * width;
    const auto start = [=](i64 r) { return row_word(ids[begin + r], width); };
    philox_rows(key, end - begin, width, start, [=, &keep](const u32* words, i64 offset, i64 count) {
      keep(words, count, from + offset, to + offset);
    });
  });
}

template <class T>
void dropout_entries(const T* x, Offsets offsets, const i32* columns, const i32* ids, T* y, i64 rows, i64 width, double p,
                     const u32* key) {
  if (rows <= 0) return;
  const Keep<T> keep(p);
  for_rows(offsets, rows, kElementGrain / 4, [=](i64 from, i64 to) {
    // Words of many short rows are drawn together; the last group of a chunk may draw some that are not used.
    u64 at[kPhiloxPiece] = {};
    alignas(64) u32 words[kPhiloxPiece];
    i64 begin = offsets[from], count = 0;
    const auto draw = [&] {
      for (i64 i = 0; i < count; i += kPickedWords) philox_pick(key, at + i, words + i);
      keep(words, count, x + begin, y + begin);
      begin += count;
      count = 0;
    };
    for (i64 r = from; r < to; ++r) {
      const u64 first = row_word(ids == nullptr ? static_cast<i32>(r) : ids[r], width);
      for (i64 e = offsets[r], end = offsets[r + 1]; e < end;) {
        const i64 room = kPhiloxPiece - count, more = end - e < room ? end - e : room;
        for (i64 i = 0; i < more; ++i) at[count + i] = first + static_cast<u32>(columns[e + i]);
        e += more;
        count += more;
        if (count == kPhiloxPiece) draw();
      }
    }
    draw();
  });
}

#define SKEIN_INSTANTIATE(T)                                                                                           \
  template void dropout(const T*, T*, i64, double, const u32*);                                                        \
  template void dropout_rows(const T*, const i32*, T*, i64, i64, double, const u32*);                                  \
  template void dropout_entries(const T*, Offsets, const i32*, const i32*, T*, i64, i64, double, const u32*);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)

}  // namespace skein
