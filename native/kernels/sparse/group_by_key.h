// Stable grouping of entries by an integer key: how edge lists become sparse structures.
#pragma once

#include "sparse/offsets.h"

namespace skein {

// offsets has count + 1 elements, order n; keys are in [0, count).
void group_by_key(const i32* keys, Offsets offsets, i32* order, i64 n, i64 count);

}  // namespace skein
