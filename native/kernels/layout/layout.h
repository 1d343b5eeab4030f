// Moving and converting elements: strided copies (transpose, slice, expand) and casts between storage types.
#pragma once

#include "support/common.h"

namespace skein {

void copy_strided(const void* src, void* dst, i64 element_bytes, const i32* dims);
void cast(const void* src, i64 src_type, void* dst, i64 dst_type, i64 n);

}  // namespace skein
