// Dropout without a stored mask: the key gives the same decisions again in the backward pass.
#pragma once

#include "common.h"

namespace skein {

template <class T>
void dropout(const T* x, T* y, i64 n, double p, const u32* key);

}  // namespace skein
