// Random numbers from counters. Every element depends on the key and on its own words, so chunks need no order.
//
// Same bits as the TypeScript twin: integer work, conversions that are exact, and + − × ÷ √ in the twin's order. That
// needs a build without contraction of products and sums (-ffp-contract=off).
#include "random/random.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "random/philox.h"

namespace skein {

// A multiple of kPhiloxPiece, so that chunks start on its boundaries.
static constexpr i64 kGrain = 16 * kPhiloxPiece;

static inline double from_bits(u64 bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static inline u64 to_bits(double value) {
  u64 bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// An integer below 2^52 as a double, in a form that every instruction set can vectorise.
static inline double small_to_double(u64 value) {
  return from_bits(value | 0x4330000000000000ull) - 4503599627370496.0;
}

// 53 bits of two words, in [0, 1).
static inline double unit_float64(u32 high, u32 low) {
  return (small_to_double(high) * 2097152.0 + small_to_double(low >> 11)) * 1.1102230246251565e-16;
}

// See src/util/box-muller.ts for the series.
static inline double log_unit(double u) {
  const u64 bits = to_bits(u);
  double e = small_to_double(bits >> 52) - 1023.0;
  double m = from_bits((bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull);
  const bool upper = m > 1.4142135623730951;
  m = upper ? m * 0.5 : m;
  e = upper ? e + 1.0 : e;
  const double f = m - 1.0;
  const double s = f / (m + 1.0);
  const double z = s * s;
  double p = 0.047619047619047616;
  p = p * z + 0.05263157894736842;
  p = p * z + 0.058823529411764705;
  p = p * z + 0.06666666666666667;
  p = p * z + 0.07692307692307693;
  p = p * z + 0.09090909090909091;
  p = p * z + 0.1111111111111111;
  p = p * z + 0.14285714285714285;
  p = p * z + 0.2;
  p = p * z + 0.3333333333333333;
  return e * 0.6931471803691238 + (2.0 * s + (2.0 * s * (z * p) + e * 1.9082149292705877e-10));
}

static inline double cos_turn(double u) {
  constexpr double kRound = 6755399441055744.0;
  const double t = 4.0 * u;
  const double q = t + kRound - kRound;
  const double x = (t - q) * 1.5707963267948966;
  const double z = x * x;
  double s = -7.647163731819816e-13;
  s = s * z + 1.6059043836821613e-10;
  s = s * z - 2.505210838544172e-8;
  s = s * z + 2.7557319223985893e-6;
  s = s * z - 0.0001984126984126984;
  s = s * z + 0.008333333333333333;
  s = s * z - 0.16666666666666666;
  s = x + x * (z * s);
  double c = 4.779477332387385e-14;
  c = c * z - 1.1470745597729725e-11;
  c = c * z + 2.08767569878681e-9;
  c = c * z - 2.755731922398589e-7;
  c = c * z + 2.48015873015873e-5;
  c = c * z - 0.001388888888888889;
  c = c * z + 0.041666666666666664;
  c = 1.0 - z * 0.5 + z * z * c;
  const double value = (q == 1.0) | (q == 3.0) ? s : c;
  return (q == 1.0) | (q == 2.0) ? -value : value;
}

static inline double standard_normal(u32 w0, u32 w1, u32 w2, u32 w3) {
  const double u = unit_float64(w0, w1) + 1.1102230246251565e-16;
  return std::sqrt(-2.0 * log_unit(u)) * cos_turn(unit_float64(w2, w3));
}

void random_bits(u32* out, i64 n, const u32* key, i64 start) {
  parallel_for(n, kGrain, [=](i64 begin, i64 end) {
    philox_words(key, static_cast<u64>(start + begin), end - begin, [=](const u32* words, i64 offset, i64 count) {
      std::memcpy(out + begin + offset, words, static_cast<size_t>(count) * sizeof(u32));
    });
  });
}

template <class T>
void random_uniform(T* out, i64 n, double lo, double hi, const u32* key, i64 start) {
  const T low = static_cast<T>(lo), range = static_cast<T>(hi - lo);
  constexpr i64 per = std::is_same_v<T, double> ? 2 : 1;
  parallel_for(n, kGrain / per, [=](i64 begin, i64 end) {
    const u64 first = static_cast<u64>(start + per * begin);
    philox_words(key, first, per * (end - begin), [=](const u32* words, i64 offset, i64 count) {
      T* SKEIN_RESTRICT to = out + begin + offset / per;
      for (i64 i = 0; i < count / per; ++i) {
        if constexpr (per == 2) {
          to[i] = low + range * unit_float64(words[2 * i], words[2 * i + 1]);
        } else {
          to[i] = low + range * (static_cast<T>(static_cast<i32>(words[i] >> 8)) * T(5.9604644775390625e-8));
        }
      }
    });
  });
}

template <class T>
void random_normal(T* out, i64 n, double mean, double std, const u32* key, i64 start) {
  parallel_for(n, kGrain / 4, [=](i64 begin, i64 end) {
    const u64 first = static_cast<u64>(start + 4 * begin);
    philox_words(key, first, 4 * (end - begin), [=](const u32* words, i64 offset, i64 count) {
      T* SKEIN_RESTRICT to = out + begin + offset / 4;
      for (i64 i = 0; i < count / 4; ++i) {
        const u32* w = words + 4 * i;
        to[i] = static_cast<T>(mean + std * standard_normal(w[0], w[1], w[2], w[3]));
      }
    });
  });
}

void random_bernoulli(u8* out, i64 n, double p, const u32* key, i64 start) {
  const u64 bound = philox_threshold(p);
  const u32 threshold = static_cast<u32>(bound);
  const u8 always = bound > 0xffffffffull ? 1 : 0;  // 2^32 does not fit a word
  parallel_for(n, kGrain, [=](i64 begin, i64 end) {
    philox_words(key, static_cast<u64>(start + begin), end - begin, [=](const u32* words, i64 offset, i64 count) {
      u8* SKEIN_RESTRICT to = out + begin + offset;
      for (i64 i = 0; i < count; ++i) to[i] = (words[i] < threshold ? 1 : 0) | always;
    });
  });
}

void random_integers(i32* out, i64 n, i64 lo, i64 hi, const u32* key, i64 start) {
  const u64 range = static_cast<u64>(hi - lo);
  parallel_for(n, kGrain, [=](i64 begin, i64 end) {
    philox_words(key, static_cast<u64>(start + begin), end - begin, [=](const u32* words, i64 offset, i64 count) {
      i32* SKEIN_RESTRICT to = out + begin + offset;
      const u32 low = static_cast<u32>(lo);
      if (range > 0xffffffffull) {
        for (i64 i = 0; i < count; ++i) to[i] = static_cast<i32>(low + words[i]);
        return;
      }
      const u32 factor = static_cast<u32>(range);
      for (i64 i = 0; i < count; ++i) {
        to[i] = static_cast<i32>(low + static_cast<u32>((static_cast<u64>(words[i]) * factor) >> 32));
      }
    });
  });
}

void random_permutation(i32* out, i64 n, const u32* key) {
  for (i64 i = 0; i < n; ++i) out[i] = static_cast<i32>(i);
  philox_words(key, 0, n - 1, [=](const u32* words, i64 offset, i64 count) {
    for (i64 step = 0; step < count; ++step) {
      const i64 i = n - 1 - (offset + step);
      const i64 j = static_cast<i64>((static_cast<u64>(words[step]) * static_cast<u64>(i + 1)) >> 32);
      const i32 taken = out[j];
      out[j] = out[i];
      out[i] = taken;
    }
  });
}

template void random_uniform(float*, i64, double, double, const u32*, i64);
template void random_uniform(double*, i64, double, double, const u32*, i64);
template void random_normal(float*, i64, double, double, const u32*, i64);
template void random_normal(double*, i64, double, double, const u32*, i64);

}  // namespace skein
