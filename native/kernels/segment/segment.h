// Reductions over the segments of a CSR layout: rows offsets[s] … offsets[s+1]-1 of x belong to segment s.
//
// op is a code of ReduceOp (op_codes.h). Empty segments give 0, and -1 in arg.
#pragma once

#include "support/common.h"

namespace skein {

// arg may be null; it is written for max and min only.
template <class T>
void segment_reduce(i64 op, const T* x, const i32* offsets, T* y, i32* arg, i64 segments, i64 width);

// gx is overwritten for rows offsets[0] … offsets[segments]-1; arg is needed for max and min.
template <class T>
void segment_reduce_backward(i64 op, const T* gy, const i32* offsets, const i32* arg, T* gx, i64 segments, i64 width);

}  // namespace skein
