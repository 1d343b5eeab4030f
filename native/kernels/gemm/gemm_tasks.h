// How a matrix product is divided into tasks: blocks of rows, and groups of columns when rows alone give too few tasks.
//
// Which thread takes which task changes no result; see gemm.cpp for why.
#pragma once

#include "gemm/gemm_block.h"

namespace skein {
namespace gemm_detail {

constexpr i64 kBlockRows = 144;               // of a in one task, so that they fit in the second-level cache
constexpr i64 kStreamBytes = i64{1} << 24;    // a c of this size leaves the caches before it is read again
constexpr i64 kParallelWork = i64{1} << 20;   // m * n * k below which a second thread costs more than it gives
constexpr i64 kLongWork = i64{1} << 28;       // m * n * k from which tasks go to any free thread

template <class F>
void for_each(bool parallel, i64 n, i64 grain, F&& f, Share share = Share::kept) {
  const auto run = [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) f(i);
  };
  if (parallel) {
    parallel_for(n, grain, run, share);
  } else {
    run(0, n);
  }
}

// A product on its own (gemm.cpp).
template <class T>
void run(const Product<T>& p, bool parallel);

// Whether a c that is written once may go past the caches: it is large, and made of whole cache lines.
template <class T>
bool may_stream(const Product<T>& p) {
  constexpr i64 size = sizeof(T);
  return p.m * p.n * size >= kStreamBytes && p.n * size % 64 == 0 && reinterpret_cast<std::uintptr_t>(p.c) % 64 == 0;
}

// Calls run(i0, i1, begin, end) for blocks of rows [i0, i1) and groups of panels [begin, end) that cover c.
template <class T, class F>
void share_blocks(const Product<T>& p, i64 panels, i64 work, bool parallel, F&& run) {
  const i64 team = parallel ? threads() : 1;
  // As many blocks of rows as fill the team evenly; columns are divided only if the rows are too few. A task takes
  // several blocks in a row where there are many, so that looking ahead pays.
  i64 blocks = ceil_div(p.m, sizeof(T) == 4 || p.part ? kBlockRows : kBlockRows * 2 / 3), groups = 1;
  if (team > 1) {
    blocks = std::max(blocks, std::min(4 * team, ceil_div(p.m, 2 * kRowsWide)));
    if (blocks >= team) blocks = ceil_div(blocks, team) * team;
    groups = std::min(panels, ceil_div(4 * team, blocks));
  }
  const i64 length = std::max<i64>(1, std::min<i64>(8, blocks / (4 * team)));
  for_each(parallel, ceil_div(blocks, length) * groups, 1, [&](i64 task) {
    const i64 first = task / groups * length, group = task % groups;
    for (i64 block = first; block < std::min(blocks, first + length); ++block) {
      const i64 i0 = p.m * block / blocks, i1 = p.m * (block + 1) / blocks;
      if (i0 < i1) run(i0, i1, panels * group / groups, panels * (group + 1) / groups);
    }
    if (p.stream) finish_streams();
  }, work >= kLongWork ? Share::asked : Share::kept);
}

}  // namespace gemm_detail
}  // namespace skein
