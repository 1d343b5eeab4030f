// Scores of rows against a panel for every comparison: the tiles of score_tiles.h and score_modulus.h by their code.
#pragma once

#include "score/score_modulus.h"

namespace skein {
namespace score_detail {

// Turns the result of a pair's chain into its score.
template <class T>
inline T finish(ScoreOp op, T x) {
  if (op == ScoreOp::dot) return x;
  return op == ScoreOp::l2 ? -std::sqrt(x > T(1e-8) ? x : T(1e-8)) : -x;
}

// The chains of rows of a against one panel of b: c[m, columns].
template <class T>
void chains(ScoreOp op, const T* a, i64 lda, const Panels<T>& b, i64 panel, T* c, i64 ldc, i64 m) {
  constexpr int W = Simd<T>::width;
  const int padded = b.padded(panel), tail = W - (padded - b.columns(panel));
  if (op == ScoreOp::dot) {
    const Panels<T> one{b.at(panel), b.k, b.columns(panel)};
    multiply(a, lda, false, one, c, ldc, m, false);
    return;
  }
  const auto run = [&](auto narrow, auto wide) {
    (padded == W ? narrow : wide)(a, lda, b.at(panel), b.k, c, ldc, m, tail);
  };
  if (op == ScoreOp::modulus) run(modulus_rows<T, 1>, modulus_rows<T, 2>);
  else if (op == ScoreOp::l1) run(distance_rows<T, Terms::absolutes, 1>, distance_rows<T, Terms::absolutes, 2>);
  else if (op == ScoreOp::biasedSquaredL2) run(distance_rows<T, Terms::biased, 1>, distance_rows<T, Terms::biased, 2>);
  else run(distance_rows<T, Terms::squares, 1>, distance_rows<T, Terms::squares, 2>);
}

}  // namespace score_detail
}  // namespace skein
