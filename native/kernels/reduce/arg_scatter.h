#pragma once

#include "support/common.h"

namespace skein {

template <class T>
void arg_scatter(const T* gy, const i32* index, T* gx, i64 outer, i64 mid, i64 inner);

}  // namespace skein
