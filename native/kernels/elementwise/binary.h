// Two values in, one out, with broadcasting: arithmetic and comparisons.
#pragma once

#include "support/common.h"

namespace skein {

template <class T>
void binary(i64 op, const T* a, const T* b, T* y, i64 n, const i32* dims);
void binary_i32(i64 op, const i32* a, const i32* b, i32* y, i64 n, const i32* dims);
template <class T>
void compare(i64 op, const T* a, const T* b, u8* y, i64 n, const i32* dims);
void compare_i32(i64 op, const i32* a, const i32* b, u8* y, i64 n, const i32* dims);

}  // namespace skein
