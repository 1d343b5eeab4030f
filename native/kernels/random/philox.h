// Philox4x32-10 (Salmon et al., SC'11) in lanes: eight blocks, that is 32 words, at a time.
//
// A block's number is its 64-bit counter; word w of the sequence of a key is lane w & 3 of block w >> 2. The bits are
// those of src/util/philox.ts at every instruction-set level.
//
// The SIMD forms keep each of the four state words in the low half of a 64-bit lane, because that is what the
// 32×32→64 multiply reads: its upper halves may hold rubbish. Lanes hold blocks 0 4 1 5 2 6 3 7 (AVX2: 0 2 1 3), so
// that interleaving the finished words within 128-bit lanes puts them in memory order without a shuffle.
#pragma once

#include <cmath>

#include "support/common.h"
#include "support/instructions.h"

namespace skein {

constexpr u32 kPhiloxM0 = 0xd2511f53u, kPhiloxM1 = 0xcd9e8d57u;
constexpr u32 kPhiloxW0 = 0x9e3779b9u, kPhiloxW1 = 0xbb67ae85u;
constexpr i64 kPhiloxGroup = 8;

#if defined(__AVX2__)

#if defined(__AVX512F__)
constexpr int kPhiloxLanes = 8;
typedef u64 PhiloxVector __attribute__((vector_size(64)));
// The zero-masked forms with a full mask are the plain instructions, without the header's undefined operand.
inline PhiloxVector philox_multiply(PhiloxVector a, PhiloxVector b) {
  return (PhiloxVector)_mm512_maskz_mul_epu32(0xff, (__m512i)a, (__m512i)b);
}
inline void philox_store(u32* out, PhiloxVector a, PhiloxVector b) {
  _mm512_storeu_si512(out, _mm512_maskz_unpacklo_epi64(0xff, (__m512i)a, (__m512i)b));
  _mm512_storeu_si512(out + 16, _mm512_maskz_unpackhi_epi64(0xff, (__m512i)a, (__m512i)b));
}
constexpr PhiloxVector kPhiloxOrder = {0, 4, 1, 5, 2, 6, 3, 7};
#else
constexpr int kPhiloxLanes = 4;
typedef u64 PhiloxVector __attribute__((vector_size(32)));
inline PhiloxVector philox_multiply(PhiloxVector a, PhiloxVector b) {
  return (PhiloxVector)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}
inline void philox_store(u32* out, PhiloxVector a, PhiloxVector b) {
  _mm256_storeu_si256((__m256i*)out, _mm256_unpacklo_epi64((__m256i)a, (__m256i)b));
  _mm256_storeu_si256((__m256i*)(out + 8), _mm256_unpackhi_epi64((__m256i)a, (__m256i)b));
}
constexpr PhiloxVector kPhiloxOrder = {0, 2, 1, 3};
#endif

inline void philox_lanes(const u32* key, u64 block, u32* out) {
  const PhiloxVector zero = {}, low = zero + 0xffffffffull;
  const PhiloxVector m0 = zero + kPhiloxM0, m1 = zero + kPhiloxM1;
  PhiloxVector c0 = kPhiloxOrder + block, c1 = c0 >> 32, c2 = zero + key[2], c3 = zero + key[3];
  u32 k0 = key[0], k1 = key[1];
  for (int round = 0; round < 9; ++round) {
    const PhiloxVector p0 = philox_multiply(c0, m0), p1 = philox_multiply(c2, m1);
    c0 = (p1 >> 32) ^ c1 ^ (zero + k0);
    c2 = (p0 >> 32) ^ c3 ^ (zero + k1);
    c1 = p1;
    c3 = p0;
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  // The last round leaves words 0, 1 and words 2, 3 side by side: a product with its halves exchanged is both.
  const PhiloxVector p0 = philox_multiply(c0, m0), p1 = philox_multiply(c2, m1);
  const PhiloxVector a = ((p1 >> 32) | (p1 << 32)) ^ (c1 & low) ^ (zero + k0);
  const PhiloxVector b = ((p0 >> 32) | (p0 << 32)) ^ (c3 & low) ^ (zero + k1);
  philox_store(out, a, b);
}

inline void philox_group(const u32* key, u64 block, u32* out) {
  for (int i = 0; i < kPhiloxGroup; i += kPhiloxLanes) philox_lanes(key, block + static_cast<u64>(i), out + 4 * i);
}

#else

inline void philox_group(const u32* key, u64 block, u32* out) {
  u32 c0[kPhiloxGroup], c1[kPhiloxGroup], c2[kPhiloxGroup], c3[kPhiloxGroup];
  for (int i = 0; i < kPhiloxGroup; ++i) {
    c0[i] = static_cast<u32>(block + i);
    c1[i] = static_cast<u32>((block + i) >> 32);
    c2[i] = key[2];
    c3[i] = key[3];
  }
  u32 k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kPhiloxGroup; ++i) {
      const u64 p0 = static_cast<u64>(kPhiloxM0) * c0[i], p1 = static_cast<u64>(kPhiloxM1) * c2[i];
      c0[i] = static_cast<u32>(p1 >> 32) ^ c1[i] ^ k0;
      c2[i] = static_cast<u32>(p0 >> 32) ^ c3[i] ^ k1;
      c1[i] = static_cast<u32>(p1);
      c3[i] = static_cast<u32>(p0);
    }
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  for (int i = 0; i < kPhiloxGroup; ++i) {
    out[4 * i] = c0[i];
    out[4 * i + 1] = c1[i];
    out[4 * i + 2] = c2[i];
    out[4 * i + 3] = c3[i];
  }
}

#endif

// The number of words, 0 … 2^32, that are below p·2^32: a word is one of them with probability p.
inline u64 philox_threshold(double p) {
  const double bound = std::ceil(p * 4294967296.0);
  if (!(bound > 0)) return 0;
  return bound >= 4294967296.0 ? 4294967296ull : static_cast<u64>(bound);
}

// Words that a task draws together: they stay in the first-level cache.
constexpr i64 kPhiloxPiece = 1024;

// Calls f(words, offset, count) for chunks of the words start … start + n − 1, in order; offset is a multiple of
// kPhiloxPiece and count is that number except at the end.
template <class F>
inline void philox_words(const u32* key, u64 start, i64 n, F&& f) {
  alignas(64) u32 words[kPhiloxPiece + 4 * kPhiloxGroup];
  for (i64 offset = 0; offset < n; offset += kPhiloxPiece) {
    const i64 count = n - offset < kPhiloxPiece ? n - offset : kPhiloxPiece;
    const u64 first = start + static_cast<u64>(offset);
    const i64 lane = static_cast<i64>(first & 3);
    for (i64 w = 0; w < lane + count; w += 4 * kPhiloxGroup) {
      philox_group(key, (first >> 2) + static_cast<u64>(w >> 2), words + w);
    }
    f(static_cast<const u32*>(words + lane), offset, count);
  }
}

}  // namespace skein
