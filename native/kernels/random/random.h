// Random numbers from counters; the bits are those of src/native/reference/random.ts.
#pragma once

#include "support/common.h"

namespace skein {

void random_bits(u32* out, i64 n, const u32* key, i64 start);

template <class T>
void random_uniform(T* out, i64 n, double lo, double hi, const u32* key, i64 start);

template <class T>
void random_normal(T* out, i64 n, double mean, double std, const u32* key, i64 start);

void random_bernoulli(u8* out, i64 n, double p, const u32* key, i64 start);
void random_integers(i32* out, i64 n, i64 lo, i64 hi, const u32* key, i64 start);
void random_permutation(i32* out, i64 n, const u32* key);

}  // namespace skein
