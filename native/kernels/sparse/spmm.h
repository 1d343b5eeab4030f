// Products of a sparse structure with rows of features (see src/native/graph-kernels.ts for what each one means).
#pragma once

#include "sparse/offsets.h"

namespace skein {

// op is a code of ReduceOp; w, x_scale, y_scale, positions and arg may be null.
template <class T>
void spmm(i64 op, const T* x, const T* w, const T* x_scale, const T* y_scale, Offsets offsets, const i32* indices,
          const i32* positions, T* y, i32* arg, i64 rows, i64 x_rows, i64 width, i64 w_cols, bool has_self, i64 self,
          bool accumulate);

// w may be null; rows are sources, gx is overwritten.
template <class T>
void spmm_arg_backward(const T* gy, const T* w, const i32* arg, Offsets offsets, const i32* indices, const i32* positions,
                       T* gx, i64 rows, i64 width, i64 w_cols);

}  // namespace skein
