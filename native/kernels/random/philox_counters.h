// Philox4x32-10 for eight independent counters at a time: the draws of samplers, where a counter is (node, block, hop, step).
//
// philox.h numbers the blocks of one sequence; here the first two counter words differ from lane to lane. Same bits as
// `philox4x32` in src/util/philox.ts at every instruction-set level.
#pragma once

#include "random/philox.h"

namespace skein {

constexpr int kCounterLanes = 8;

// Shared by all draws of one hop: the cipher's key and the two upper counter words.
struct DrawKey {
  u32 k0, k1, c2, c3;
};

// The stream words of the key are mixed into the counter, so that the whole of a derived key has an effect.
inline DrawKey draw_key(const u32* key, i64 step, i64 tag) {
  return {key[0], key[1], static_cast<u32>(tag) ^ key[2], static_cast<u32>(step) ^ key[3]};
}

// out[w][i] is word w of counter (c0[i], c1[i], key.c2, key.c3).
inline void philox_counters(const DrawKey& key, const u32* c0, const u32* c1, u32 (*out)[kCounterLanes]) {
#if defined(__AVX2__)
  typedef u32 Half __attribute__((vector_size(4 * kPhiloxLanes)));
  typedef u32 HalfAt __attribute__((vector_size(4 * kPhiloxLanes), aligned(4)));
  const PhiloxVector zero = {};
  const PhiloxVector m0 = zero + kPhiloxM0, m1 = zero + kPhiloxM1;
  for (int lane = 0; lane < kCounterLanes; lane += kPhiloxLanes) {
    PhiloxVector a = __builtin_convertvector(static_cast<Half>(*reinterpret_cast<const HalfAt*>(c0 + lane)), PhiloxVector);
    PhiloxVector b = __builtin_convertvector(static_cast<Half>(*reinterpret_cast<const HalfAt*>(c1 + lane)), PhiloxVector);
    PhiloxVector c = zero + key.c2, d = zero + key.c3;
    u32 k0 = key.k0, k1 = key.k1;
    for (int round = 0; round < 10; ++round) {
      const PhiloxVector p0 = philox_multiply(a, m0), p1 = philox_multiply(c, m1);
      a = (p1 >> 32) ^ b ^ (zero + k0);
      c = (p0 >> 32) ^ d ^ (zero + k1);
      b = p1;
      d = p0;
      k0 += kPhiloxW0;
      k1 += kPhiloxW1;
    }
    *reinterpret_cast<HalfAt*>(out[0] + lane) = __builtin_convertvector(a, Half);
    *reinterpret_cast<HalfAt*>(out[1] + lane) = __builtin_convertvector(b, Half);
    *reinterpret_cast<HalfAt*>(out[2] + lane) = __builtin_convertvector(c, Half);
    *reinterpret_cast<HalfAt*>(out[3] + lane) = __builtin_convertvector(d, Half);
  }
#else
  for (int i = 0; i < kCounterLanes; ++i) {
    u32 a = c0[i], b = c1[i], c = key.c2, d = key.c3, k0 = key.k0, k1 = key.k1;
    for (int round = 0; round < 10; ++round) {
      const u64 p0 = static_cast<u64>(kPhiloxM0) * a, p1 = static_cast<u64>(kPhiloxM1) * c;
      a = static_cast<u32>(p1 >> 32) ^ b ^ k0;
      c = static_cast<u32>(p0 >> 32) ^ d ^ k1;
      b = static_cast<u32>(p1);
      d = static_cast<u32>(p0);
      k0 += kPhiloxW0;
      k1 += kPhiloxW1;
    }
    out[0][i] = a;
    out[1][i] = b;
    out[2][i] = c;
    out[3][i] = d;
  }
#endif
}

// One block for one counter, for code that draws here and there.
inline void philox_counter(const DrawKey& key, u32 c0, u32 c1, u32* out) {
  u32 a = c0, b = c1, c = key.c2, d = key.c3, k0 = key.k0, k1 = key.k1;
  for (int round = 0; round < 10; ++round) {
    const u64 p0 = static_cast<u64>(kPhiloxM0) * a, p1 = static_cast<u64>(kPhiloxM1) * c;
    a = static_cast<u32>(p1 >> 32) ^ b ^ k0;
    c = static_cast<u32>(p0 >> 32) ^ d ^ k1;
    b = static_cast<u32>(p1);
    d = static_cast<u32>(p0);
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = d;
}

inline u32 bounded_word(u32 word, u32 range) { return static_cast<u32>((static_cast<u64>(word) * range) >> 32); }

}  // namespace skein
