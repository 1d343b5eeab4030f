// The loss of a query from its scores x[0 … n) against a tile of rows, and its gradient by the scores, in place.
//
// With the weights w (omega), t (tau), g (sigma) of the query, m[j] the number of times that j is an answer, c = Σ m:
//   softmax         w · log Σ eˣ − Σ (t·m + g) · x
//   masked_softmax  Σ over answers o of (w/c) · log(eˣᵒ + Σ' eˣ) − (t + g/c) · xₒ, minus g · Σ' x, where Σ' leaves out known ids
//                   and answers: true answers do not compete with each other
//   bce             Σ w · softplus(x + offset) − (t·m + g) · (x + offset)
//   squares         w · Σ (x − (t·m + g)/w)²
// The terms of answers are the caller's business. Numbers per query are double: they are few, and differences of large scores keep
// their digits.
#pragma once

#include "softmax/softmax_row.h"
#include "support/op_codes.h"

namespace skein {
namespace score_detail {

// The sum of all elements that are not -inf, which are left out.
template <class T>
inline T row_sum(const T* x, i64 n) {
  auto total = Lanes<T>::set(T(0));
  for_lanes<T>(n, [&](i64 i, auto lanes) {
    total = total + map(Lanes<T>::load(x + i, lanes, T(0)), [](T v) { return v == -vm::kInfinity<T> ? T(0) : v; });
  });
  return sum(total);
}

// The highest score, and the sum of exponentials below it; those go to `out` (null: nowhere), past the caches if `streamed`. `out`
// has whole vectors and is aligned to 64 bytes.
template <class T>
inline T softmax_part(const T* x, i64 n, T& top, T* out, bool streamed) {
  using L = Lanes<T>;
  top = row_max(x, n);
  const auto shift = L::set(top == -vm::kInfinity<T> ? T(0) : top);  // all may be left out
  auto total = L::set(T(0));
  for_lanes<T>(n, [&](i64 i, auto lanes) {
    const L e = exp_lanes(L::load(x + i, lanes, -vm::kInfinity<T>) - shift);
    if (out) e.store(out + i, AllLanes{}, streamed);
    total = total + e;
  });
  return sum(total);
}

// g = factor · e − less.
template <class T>
inline void softmax_gradient(const T* e, T factor, T less, T* g, i64 n) {
  const auto f = Lanes<T>::set(factor), s = Lanes<T>::set(less);
  for_lanes<T>(n, [&](i64 i, auto lanes) { (f * Lanes<T>::load(e + i, lanes, T(0)) - s).store(g + i, lanes); });
}

// What an answer with score s adds to masked_softmax, next to the others' log of the sum of exponentials.
struct AnswerShare {
  double loss, g;  // g is its own gradient
  double others;   // its share in the factor of the others' probabilities

  AnswerShare(double s, double lse, double weight, double less) {
    others = weight * vm::sigmoid(lse - s);
    loss = weight * vm::softplus(lse - s) + (weight - less) * s;
    g = (weight - less) - others;
  }
};

template <class T>
double bce_part(T* x, i64 n, T omega, T sigma, T offset, bool gradient) {
  using L = Lanes<T>;
  const double all = sigma == T(0) ? 0 : static_cast<double>(row_sum(x, n)) + static_cast<double>(n) * offset;
  const auto move = L::set(offset), factor = L::set(omega), less = L::set(sigma);
  auto total = L::set(T(0));
  for_lanes<T>(n, [&](i64 i, auto lanes) {
    const L v = L::load(x + i, lanes, -vm::kInfinity<T>) + move;
    total = total + map(v, [](T s) { return vm::softplus(s); });
    if (gradient) (factor * map(v, [](T s) { return vm::sigmoid(s); }) - less).store(x + i, lanes);
  });
  return omega * static_cast<double>(sum(total)) - sigma * all;
}

// What tau or sigma is next to omega: a query without weight has no targets, and its loss is 0.
template <class T>
inline T target_of(T weight, T omega) {
  return omega == T(0) ? T(0) : weight / omega;
}

// Scores of answers have been reduced by their targets.
template <class T>
double squares_part(T* x, i64 n, T omega, T sigma, bool gradient) {
  using L = Lanes<T>;
  const T each = target_of(sigma, omega);
  const auto base = L::set(each), twice = L::set(T(2) * omega);
  auto total = L::set(T(0));
  for_lanes<T>(n, [&](i64 i, auto lanes) {
    const L v = L::load(x + i, lanes, each) - base;
    total = total + v * v;
    if (gradient) (twice * v).store(x + i, lanes);
  });
  return omega * static_cast<double>(sum(total));
}

}  // namespace score_detail
}  // namespace skein
