// The elementwise half of recurrent cells: what remains after the two matrix products with input and state.
//
// gi and gh are those products with their biases. Formulas and gate order are PyTorch's.
#pragma once

#include "support/common.h"

namespace skein {

// gi, gh [batch, 3 hidden] in the order r, z, n:
//   r = σ(gi_r + gh_r), z = σ(gi_z + gh_z), n = tanh(gi_n + r gh_n), out = n + z (h - n).
// gates [batch, 4 hidden] keeps r, z, n, gh_n for the gradient.
template <class T>
void gru_cell(const T* gi, const T* gh, const T* h, T* out, T* gates, i64 batch, i64 hidden);

template <class T>
void gru_cell_backward(const T* gout, const T* h, const T* gates, T* dgi, T* dgh, T* dh, i64 batch, i64 hidden);

// out = tanh(gi + gh), or max(gi + gh, 0) with relu.
template <class T>
void rnn_cell(const T* gi, const T* gh, T* out, i64 n, bool relu);

template <class T>
void rnn_cell_backward(const T* gout, const T* out, T* g, i64 n, bool relu);

}  // namespace skein
