// One step of an optimiser over parameters and state, in place and in one pass.
//
// The formulas and the order of operations are PyTorch's; hyper-parameters stay double until they meet an element.
// The "rows" forms apply the same formula to some rows of a table only, the rest of the table and of the state being
// left as it is ("lazy" updates of embeddings).
#pragma once

#include "support/common.h"

namespace skein {

// first: the momentum buffer has no content yet and becomes the gradient itself.
template <class T>
void sgd_step(T* p, const T* g, T* buffer, i64 n, double lr, double momentum, double dampening, double weight_decay,
              bool nesterov, bool first);

template <class T>
void adagrad_step(T* p, const T* g, T* sum, i64 n, double lr, double eps, double weight_decay);

template <class T>
void adam_step(T* p, const T* g, T* m, T* v, i64 n, double lr, double beta1, double beta2, double eps,
               double weight_decay, bool decoupled, double c1, double c2);

// ids are unique, so rows can be updated in any order.
template <class T>
void sgd_step_rows(T* p, const i32* ids, const T* g, T* buffer, i64 n, i64 width, double lr, double momentum,
                   double weight_decay);

template <class T>
void adagrad_step_rows(T* p, const i32* ids, const T* g, T* sum, i64 n, i64 width, double lr, double eps,
                       double weight_decay);

// One sum per row: sum[r] += mean of g², and the whole row steps by the same rate.
template <class T>
void row_adagrad_step_rows(T* p, const i32* ids, const T* g, T* sum, i64 n, i64 width, double lr, double eps,
                           double weight_decay);

template <class T>
void adam_step_rows(T* p, const i32* ids, const T* g, T* m, T* v, i64 n, i64 width, double lr, double beta1,
                    double beta2, double eps, double weight_decay, bool decoupled, double c1, double c2);

}  // namespace skein
