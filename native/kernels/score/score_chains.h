// Scores of rows against a panel for every comparison: the tiles of score_tiles.h and score_modulus.h by their code.
#pragma once

#include "score/score_modulus.h"

namespace skein {
namespace score_detail {

// Turns the result of a pair's chain into its score. NaN stays NaN: a broken row must not become the nearest.
template <class T>
inline T finish(ScoreOp op, T x) {
  if (op == ScoreOp::dot) return x;
  return op == ScoreOp::l2 ? -std::sqrt(x < T(1e-8) ? T(1e-8) : x) : -x;
}

template <Terms Kind>
using TermsKind = std::integral_constant<Terms, Kind>;

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
  const PanelRows<T> rows{a, lda, b.at(panel), b.k, c, ldc, tail};
  const auto run = [&](auto narrow, auto wide) {
    if (padded == W) for_row_tiles(m, narrow);
    else for_row_tiles(m, wide);
  };
  const auto distances = [&](auto kind) {
    run(DistanceTile<T, kind, 1>{rows}, DistanceTile<T, kind, 2>{rows});
  };
  if (op == ScoreOp::modulus) run(ModulusTile<T, 1>{rows}, ModulusTile<T, 2>{rows});
  else if (op == ScoreOp::l1) distances(TermsKind<Terms::absolutes>{});
  else if (op == ScoreOp::biasedSquaredL2) distances(TermsKind<Terms::biased>{});
  else distances(TermsKind<Terms::squares>{});
}

}  // namespace score_detail
}  // namespace skein
