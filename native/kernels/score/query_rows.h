// The loss of one query from its scores x[0 … n) against all rows, and its gradient by the scores, in place.
//
// With the weights w (omega), t (tau), g (sigma) of the query, m[j] the number of times that j is an answer, c = Σ m:
//   softmax         w · log Σ eˣ − Σ (t·m + g) · x
//   masked_softmax  Σ over answers o of (w/c) · log(eˣᵒ + Σ' eˣ) − (t + g/c) · xₒ, minus g · Σ' x, where Σ' leaves out known ids
//                   and answers: true answers do not compete with each other
//   bce             Σ w · softplus(x + offset) − (t·m + g) · (x + offset)
//   squares         w · Σ (x − (t·m + g)/w)²
// Numbers per row are computed in double: they are few, and differences of large scores keep their digits.
#pragma once

#include "softmax/softmax_row.h"
#include "support/op_codes.h"

namespace skein {
namespace score_detail {

// `saved` has room for a number per answer.
template <class T>
struct QueryRow {
  const i32 *answers, *known;
  i64 answer_count, known_count;
  T omega, tau, sigma, offset;
  T* saved;
};

template <class T>
inline double picked_sum(const T* x, const QueryRow<T>& q) {
  double total = 0;
  for (i64 k = 0; k < q.answer_count; ++k) total += static_cast<double>(x[q.answers[k]]);
  return total;
}

// The sum of all elements that are not -inf.
template <class T>
inline T row_sum(const T* x, i64 n) {
  auto total = Lanes<T>::set(T(0));
  for_lanes<T>(n, [&](i64 i, auto lanes) {
    total = total + map(Lanes<T>::load(x + i, lanes, T(0)), [](T v) { return v == -vm::kInfinity<T> ? T(0) : v; });
  });
  return sum(total);
}

// Their exponentials below `top` and the sum of those.
template <class T>
inline T row_exp(T* x, T top, i64 n) {
  const auto shift = Lanes<T>::set(top);
  auto total = Lanes<T>::set(T(0));
  for_lanes<T>(n, [&](i64 i, auto lanes) {
    const auto e = exp_lanes(Lanes<T>::load(x + i, lanes, -vm::kInfinity<T>) - shift);
    e.store(x + i, lanes);
    total = total + e;
  });
  return sum(total);
}

// x = factor · x − less.
template <class T>
inline void scale_row(T* x, T factor, T less, i64 n) {
  const auto f = Lanes<T>::set(factor), g = Lanes<T>::set(less);
  for_lanes<T>(n, [&](i64 i, auto lanes) { (f * Lanes<T>::load(x + i, lanes, T(0)) - g).store(x + i, lanes); });
}

template <class T>
double softmax_query(T* x, i64 n, const QueryRow<T>& q, bool gradient) {
  const T top = row_max(x, n);
  const double picked = picked_sum(x, q), all = q.sigma == T(0) ? 0 : static_cast<double>(row_sum(x, n));
  const T total = gradient ? row_exp(x, top, n) : row_sum_exp(x, top, n);
  if (gradient) {
    scale_row(x, q.omega / total, q.sigma, n);
    for (i64 k = 0; k < q.answer_count; ++k) x[q.answers[k]] -= q.tau;
  }
  const double lse = static_cast<double>(top) + vm::log(static_cast<double>(total));
  return q.omega * lse - q.tau * picked - q.sigma * all;
}

// What an answer with score s adds, next to the others' log of the sum of exponentials.
struct AnswerShare {
  double loss, g;  // g is its own gradient
  double others;   // the factor of the others' probabilities

  AnswerShare(double s, double lse, double weight, double less) {
    const double lost = weight * vm::sigmoid(lse - s);
    loss = weight * vm::softplus(lse - s) + (weight - less) * s;
    g = (weight - less) - lost;
    others = lost;
  }
};

template <class T>
double masked_softmax_query(T* x, i64 n, const QueryRow<T>& q, bool gradient) {
  for (i64 k = 0; k < q.answer_count; ++k) q.saved[k] = x[q.answers[k]];
  for (i64 k = 0; k < q.answer_count; ++k) x[q.answers[k]] = -vm::kInfinity<T>;
  for (i64 k = 0; k < q.known_count; ++k) x[q.known[k]] = -vm::kInfinity<T>;
  const double all = q.sigma == T(0) ? 0 : static_cast<double>(row_sum(x, n));
  const T highest = row_max(x, n), top = highest == -vm::kInfinity<T> ? T(0) : highest;  // all may be known
  const T total = gradient ? row_exp(x, top, n) : row_sum_exp(x, top, n);
  const double lse = total == T(0) ? -vm::kInfinity<double> : static_cast<double>(top) + vm::log(static_cast<double>(total));

  const double count = q.answer_count > 0 ? static_cast<double>(q.answer_count) : 1;
  const double weight = q.omega / count, less = q.tau + q.sigma / count;
  double loss = -q.sigma * all, others = 0;
  for (i64 k = 0; k < q.answer_count; ++k) {
    const AnswerShare share(q.saved[k], lse, weight, less);
    loss += share.loss;
    others += share.others;
    q.saved[k] = static_cast<T>(share.g);
  }
  if (!gradient) return loss;
  scale_row(x, total == T(0) ? T(0) : static_cast<T>(others / total), q.sigma, n);
  for (i64 k = 0; k < q.known_count; ++k) x[q.known[k]] = T(0);
  for (i64 k = 0; k < q.answer_count; ++k) x[q.answers[k]] = T(0);
  for (i64 k = 0; k < q.answer_count; ++k) x[q.answers[k]] += q.saved[k];
  return loss;
}

template <class T>
double bce_query(T* x, i64 n, const QueryRow<T>& q, bool gradient) {
  using L = Lanes<T>;
  const double picked = picked_sum(x, q) + static_cast<double>(q.answer_count) * q.offset;
  const double all = q.sigma == T(0) ? 0 : static_cast<double>(row_sum(x, n)) + static_cast<double>(n) * q.offset;
  const auto move = L::set(q.offset), factor = L::set(q.omega), less = L::set(q.sigma);
  auto total = L::set(T(0));
  for_lanes<T>(n, [&](i64 i, auto lanes) {
    const L v = L::load(x + i, lanes, -vm::kInfinity<T>) + move;
    total = total + map(v, [](T s) { return vm::softplus(s); });
    if (gradient) (factor * map(v, [](T s) { return vm::sigmoid(s); }) - less).store(x + i, lanes);
  });
  if (gradient) {
    for (i64 k = 0; k < q.answer_count; ++k) x[q.answers[k]] -= q.tau;
  }
  return q.omega * static_cast<double>(sum(total)) - q.tau * picked - q.sigma * all;
}

// A query without weight has no targets: its loss is 0.
template <class T>
double squares_query(T* x, i64 n, const QueryRow<T>& q, bool gradient) {
  using L = Lanes<T>;
  const T each = q.omega == T(0) ? T(0) : q.tau / q.omega, less = q.omega == T(0) ? T(0) : q.sigma / q.omega;
  for (i64 k = 0; k < q.answer_count; ++k) x[q.answers[k]] -= each;
  const auto base = L::set(less), twice = L::set(T(2) * q.omega);
  auto total = L::set(T(0));
  for_lanes<T>(n, [&](i64 i, auto lanes) {
    const L v = L::load(x + i, lanes, less) - base;
    total = total + v * v;
    if (gradient) (twice * v).store(x + i, lanes);
  });
  return q.omega * static_cast<double>(sum(total));
}

template <class T>
T query_row(QueryKind kind, T* x, i64 n, const QueryRow<T>& q, bool gradient) {
  if (n == 0) return T(0);
  switch (kind) {
    case QueryKind::softmax: return static_cast<T>(softmax_query(x, n, q, gradient));
    case QueryKind::masked_softmax: return static_cast<T>(masked_softmax_query(x, n, q, gradient));
    case QueryKind::bce: return static_cast<T>(bce_query(x, n, q, gradient));
    default: return static_cast<T>(squares_query(x, n, q, gradient));
  }
}

}  // namespace score_detail
}  // namespace skein
