// Random words of rows in any order. Row r has the words start(r) … start(r) + width − 1 of a key's sequence, so that what
// is drawn for a row depends on what it is, not on where it lies.
#pragma once

#include "philox_counters.h"

namespace skein {

// Blocks of several short rows, computed eight at a time.
class PendingBlocks {
 public:
  PendingBlocks(const u32* key, u32* words) : key_{key[0], key[1], key[2], key[3]}, words_(words) {}

  // Words first … first + width − 1 of the sequence go to words[at …].
  void add(u64 first, i64 at, i64 width) {
    for (u64 block = first >> 2; block <= (first + static_cast<u64>(width) - 1) >> 2; ++block) {
      low_[count_] = static_cast<u32>(block);
      high_[count_] = static_cast<u32>(block >> 32);
      place_[count_] = at + static_cast<i64>(4 * block - first);
      begin_[count_] = at;
      end_[count_] = at + width;
      if (++count_ == kCounterLanes) flush();
    }
  }

  void flush() {
    u32 drawn[4][kCounterLanes];
    for (int i = count_; i < kCounterLanes; ++i) low_[i] = high_[i] = 0;
    philox_counters(key_, low_, high_, drawn);
    for (int i = 0; i < count_; ++i) {
      const i64 from = begin_[i] > place_[i] ? begin_[i] - place_[i] : 0;
      const i64 to = end_[i] - place_[i] < 4 ? end_[i] - place_[i] : 4;
      for (i64 lane = from; lane < to; ++lane) words_[place_[i] + lane] = drawn[lane][i];
    }
    count_ = 0;
  }

 private:
  DrawKey key_;
  u32* words_;
  u32 low_[kCounterLanes], high_[kCounterLanes];
  i64 place_[kCounterLanes], begin_[kCounterLanes], end_[kCounterLanes];
  int count_ = 0;
};

// Calls f(words, offset, count) for pieces of all words, row after row: offset counts words from the first row's first.
template <class Start, class F>
inline void philox_rows(const u32* key, i64 rows, i64 width, Start&& start, F&& f) {
  if (width >= 4 * kPhiloxGroup) {
    for (i64 r = 0; r < rows; ++r) {
      philox_words(key, start(r), width,
                   [&](const u32* words, i64 offset, i64 count) { f(words, r * width + offset, count); });
    }
    return;
  }
  alignas(64) u32 words[kPhiloxPiece];
  PendingBlocks pending(key, words);
  const i64 most = kPhiloxPiece / (width > 0 ? width : 1);
  for (i64 first = 0; first < rows && width > 0; first += most) {
    const i64 count = rows - first < most ? rows - first : most;
    for (i64 i = 0; i < count; ++i) pending.add(start(first + i), i * width, width);
    pending.flush();
    f(static_cast<const u32*>(words), first * width, count * width);
  }
}

// The first word of a row of `width`. Ids count as unsigned, so that negative ones have words of their own.
inline u64 row_word(i32 id, i64 width) { return static_cast<u64>(static_cast<u32>(id)) * static_cast<u64>(width); }

}  // namespace skein
