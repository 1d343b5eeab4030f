// Random words of rows in any order. Row r has the words start(r) … start(r) + width − 1 of a key's sequence, so that what
// is drawn for a row depends on its id, not on its position.
#pragma once

#include "random/philox_counters.h"

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

// Calls f(words, offset, count) for chunks of all words, row after row: offset counts words from the first row's first.
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

// Words of a sequence in any order, many at a time: several vectors together hide the latency of the multiplies.
constexpr i64 kPickedWords = 32;

// out[i] is word at[i] of the key's sequence, for kPickedWords of them.
inline void philox_pick(const u32* key, const u64* at, u32* out) {
#if defined(__AVX2__)
  constexpr int kVectors = 4;
  typedef u64 VectorAt __attribute__((vector_size(8 * kPhiloxLanes), aligned(8)));
  typedef u32 Half __attribute__((vector_size(4 * kPhiloxLanes)));
  typedef u32 HalfAt __attribute__((vector_size(4 * kPhiloxLanes), aligned(4)));
  const PhiloxVector zero = {}, low = zero + 0xffffffffull;
  const PhiloxVector m0 = zero + kPhiloxM0, m1 = zero + kPhiloxM1;
  for (i64 from = 0; from < kPickedWords; from += kVectors * kPhiloxLanes) {
    PhiloxVector a[kVectors], b[kVectors], c[kVectors], d[kVectors], word[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      word[v] = static_cast<PhiloxVector>(*reinterpret_cast<const VectorAt*>(at + from + v * kPhiloxLanes));
      a[v] = word[v] >> 2;
      b[v] = a[v] >> 32;
      c[v] = zero + key[2];
      d[v] = zero + key[3];
    }
    u32 k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; ++round) {
      for (int v = 0; v < kVectors; ++v) {
        const PhiloxVector p0 = philox_multiply(a[v], m0), p1 = philox_multiply(c[v], m1);
        a[v] = (p1 >> 32) ^ b[v] ^ (zero + k0);
        c[v] = (p0 >> 32) ^ d[v] ^ (zero + k1);
        b[v] = p1;
        d[v] = p0;
      }
      k0 += kPhiloxW0;
      k1 += kPhiloxW1;
    }
    for (int v = 0; v < kVectors; ++v) {
      const PhiloxVector odd = zero - (word[v] & 1), upper = zero - ((word[v] >> 1) & 1);
      const PhiloxVector first = (a[v] & ~odd) | (b[v] & odd), second = (c[v] & ~odd) | (d[v] & odd);
      const PhiloxVector chosen = ((first & ~upper) | (second & upper)) & low;
      *reinterpret_cast<HalfAt*>(out + from + v * kPhiloxLanes) = __builtin_convertvector(chosen, Half);
    }
  }
#else
  const DrawKey shared = {key[0], key[1], key[2], key[3]};
  for (i64 i = 0; i < kPickedWords; ++i) {
    u32 block[4];
    philox_counter(shared, static_cast<u32>(at[i] >> 2), static_cast<u32>(at[i] >> 34), block);
    out[i] = block[at[i] & 3];
  }
#endif
}

// The first word of a row of `width`. Ids are read as unsigned, so that negative ones have distinct words.
inline u64 row_word(i32 id, i64 width) { return static_cast<u64>(static_cast<u32>(id)) * static_cast<u64>(width); }

}  // namespace skein
