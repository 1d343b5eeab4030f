// sum, mean, max and min over the middle axis of [outer, mid, inner].
//
// inner = 1: every row is a run (reduce_run.h); runs longer than kRun are split there. inner > 1: rows are added into a
// tile of column totals, 64 rows in T, then those in double; tall and narrow inputs are split into blocks of rows.
// All splits depend on the sizes alone, and partial results are joined in order.
#include "reduce/reduce.h"

#include <memory>

#include "support/op_codes.h"
#include "reduce/reduce_run.h"

namespace skein {

namespace {

constexpr i64 kRun = 32768;
constexpr i64 kTileColumns = 1024;
constexpr i64 kFlushRows = 64;
constexpr i64 kBlockElements = 131072;

i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }
i64 at_least_one(i64 a) { return a < 1 ? 1 : a; }

template <class Op, class T>
void reduce_rows(const T* x, T* y, i64 outer, i64 mid, double divisor) {
  if (mid <= kRun) {
    parallel_for(outer, at_least_one(kElementGrain / mid), [=](i64 begin, i64 end) {
      for (i64 o = begin; o < end; ++o) y[o] = static_cast<T>(reduce_run<Op>(x + o * mid, mid) / divisor);
    });
    return;
  }
  const i64 runs = ceil_div(mid, kRun);
  const std::unique_ptr<double[]> partial(new double[outer * runs]);
  double* parts = partial.get();
  parallel_for(outer * runs, 1, [=](i64 begin, i64 end) {
    for (i64 unit = begin; unit < end; ++unit) {
      const i64 o = unit / runs, start = unit % runs * kRun;
      parts[unit] = reduce_run<Op>(x + o * mid + start, mid - start < kRun ? mid - start : kRun);
    }
  });
  for (i64 o = 0; o < outer; ++o) {
    double total = Op::identity;
    for (i64 r = 0; r < runs; ++r) total = Op::join(total, parts[o * runs + r]);
    y[o] = static_cast<T>(total / divisor);
  }
}

// total[j] joined over at most kFlushRows rows, four at a time so that the totals are touched less often.
template <class Op, class T>
inline void join_rows(const T* x, i64 rows, i64 step, i64 width, T* SKEIN_RESTRICT total) {
  for (i64 j = 0; j < width; ++j) total[j] = static_cast<T>(Op::identity);
  i64 r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T *SKEIN_RESTRICT a = x + r * step, *SKEIN_RESTRICT b = a + step;
    const T *SKEIN_RESTRICT c = b + step, *SKEIN_RESTRICT d = c + step;
    for (i64 j = 0; j < width; ++j) {
      total[j] = Op::join(total[j], Op::join(Op::join(a[j], b[j]), Op::join(c[j], d[j])));
    }
  }
  for (; r < rows; ++r) {
    const T* SKEIN_RESTRICT a = x + r * step;
    for (i64 j = 0; j < width; ++j) total[j] = Op::join(total[j], a[j]);
  }
}

// total[j] joined over all rows of a tile; width <= kTileColumns.
template <class Op, class T>
void reduce_tile(const T* x, i64 rows, i64 step, i64 width, double* SKEIN_RESTRICT total) {
  T few[kTileColumns];
  for (i64 j = 0; j < width; ++j) total[j] = Op::identity;
  for (i64 r = 0; r < rows; r += kFlushRows) {
    join_rows<Op>(x + r * step, rows - r < kFlushRows ? rows - r : kFlushRows, step, width, few);
    for (i64 j = 0; j < width; ++j) total[j] = Op::join(total[j], static_cast<double>(few[j]));
  }
}

// Narrow rows without gaps: 16 of them make one wide row, whose 16 sections are joined at the end.
template <class Op, class T>
void reduce_narrow(const T* x, i64 rows, i64 width, double* SKEIN_RESTRICT total) {
  constexpr i64 kGroup = 16;
  double wide[kTileColumns];
  const i64 grouped = rows / kGroup;
  reduce_tile<Op>(x, grouped, width * kGroup, width * kGroup, wide);
  reduce_tile<Op>(x + grouped * kGroup * width, rows - grouped * kGroup, width, width, total);
  for (i64 g = 0; g < kGroup; ++g) {
    for (i64 j = 0; j < width; ++j) total[j] = Op::join(total[j], wide[g * width + j]);
  }
}

template <class Op, class T>
void reduce_any_tile(const T* x, i64 rows, i64 step, i64 width, double* total) {
  const bool narrow = step == width && width < kTileColumns / 16 && rows >= kFlushRows;
  if (narrow) reduce_narrow<Op>(x, rows, width, total);
  else reduce_tile<Op>(x, rows, step, width, total);
}

// How the columns of one outer index are divided.
struct ColumnCut {
  i64 tiles, blocks, block_rows;

  ColumnCut(i64 outer, i64 mid, i64 inner) : tiles(ceil_div(inner, kTileColumns)), blocks(1), block_rows(mid) {
    // Enough independent tiles keep the threads busy, and blocks would only cost memory.
    if (outer * tiles >= 16) return;
    block_rows = ceil_div(at_least_one(kBlockElements / inner), kFlushRows) * kFlushRows;
    blocks = ceil_div(mid, block_rows);
  }
};

template <class Op, class T>
void reduce_columns(const T* x, T* y, i64 outer, i64 mid, i64 inner, double divisor) {
  const ColumnCut cut(outer, mid, inner);
  const std::unique_ptr<double[]> partial(cut.blocks > 1 ? new double[outer * cut.blocks * inner] : nullptr);
  double* parts = partial.get();
  const i64 tile_columns = inner < kTileColumns ? inner : kTileColumns;
  const i64 grain = at_least_one(kElementGrain / (tile_columns * (cut.block_rows < mid ? cut.block_rows : mid)));
  parallel_for(outer * cut.blocks * cut.tiles, grain, [=](i64 begin, i64 end) {
    double totals[kTileColumns];
    for (i64 unit = begin; unit < end; ++unit) {
      const i64 tile = unit % cut.tiles, block = unit / cut.tiles % cut.blocks, o = unit / cut.tiles / cut.blocks;
      const i64 column = tile * kTileColumns, row = block * cut.block_rows;
      const i64 width = inner - column < kTileColumns ? inner - column : kTileColumns;
      const i64 rows = mid - row < cut.block_rows ? mid - row : cut.block_rows;
      const T* source = x + (o * mid + row) * inner + column;
      if (parts != nullptr) {
        reduce_any_tile<Op>(source, rows, inner, width, parts + (o * cut.blocks + block) * inner + column);
        continue;
      }
      reduce_any_tile<Op>(source, rows, inner, width, totals);
      T* SKEIN_RESTRICT out = y + o * inner + column;
      for (i64 j = 0; j < width; ++j) out[j] = static_cast<T>(totals[j] / divisor);
    }
  });
  if (parts == nullptr) return;
  for (i64 o = 0; o < outer; ++o) {
    double* first = parts + o * cut.blocks * inner;
    for (i64 b = 1; b < cut.blocks; ++b) {
      for (i64 j = 0; j < inner; ++j) first[j] = Op::join(first[j], first[b * inner + j]);
    }
    for (i64 j = 0; j < inner; ++j) y[o * inner + j] = static_cast<T>(first[j] / divisor);
  }
}

template <class Op, class T>
void reduce_with(const T* x, T* y, i64 outer, i64 mid, i64 inner, double divisor) {
  if (inner == 1) reduce_rows<Op>(x, y, outer, mid, divisor);
  else reduce_columns<Op>(x, y, outer, mid, inner, divisor);
}

}  // namespace

template <class T>
void reduce(i64 op, const T* x, T* y, i64 outer, i64 mid, i64 inner) {
  const ReduceOp code = static_cast<ReduceOp>(op);
  if (outer * inner == 0) return;
  if (mid == 0) {
    const T empty = code == ReduceOp::mean ? std::numeric_limits<T>::quiet_NaN() : T(0);
    for (i64 i = 0; i < outer * inner; ++i) y[i] = empty;
    return;
  }
  switch (code) {
    case ReduceOp::sum: return reduce_with<Sum>(x, y, outer, mid, inner, 1.0);
    case ReduceOp::mean: return reduce_with<Sum>(x, y, outer, mid, inner, static_cast<double>(mid));
    case ReduceOp::max: return reduce_with<Max>(x, y, outer, mid, inner, 1.0);
    case ReduceOp::min: return reduce_with<Min>(x, y, outer, mid, inner, 1.0);
  }
}

template void reduce<float>(i64, const float*, float*, i64, i64, i64);
template void reduce<double>(i64, const double*, double*, i64, i64, i64);

}  // namespace skein
