// The loop under every binary kernel: y[i] = f(a, b) with y contiguous and a, b contiguous, repeated or strided.
//
// After merging dimensions the innermost one decides: both operands run along ([N,F] op [F] and plain arrays), one of
// them stands still ([N,F] op [N,1], scalars), or anything else. Work is divided into rows, long rows into segments.
#pragma once

#include "support/common.h"
#include "layout/layout_walk.h"

namespace skein {

// One copy per operation instead of one per call site: the call is cheap compared with a row, the copies are not.
template <class In, class Out, class F>
__attribute__((noinline)) void binary_row(const In* SKEIN_RESTRICT a, i64 step_a,
                                          const In* SKEIN_RESTRICT b, i64 step_b, Out* SKEIN_RESTRICT y, i64 n, F f) {
  if (step_a == 1 && step_b == 1) {
    for (i64 i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
  } else if (step_a == 1 && step_b == 0) {
    const In right = b[0];
    for (i64 i = 0; i < n; ++i) y[i] = f(a[i], right);
  } else if (step_a == 0 && step_b == 1) {
    const In left = a[0];
    for (i64 i = 0; i < n; ++i) y[i] = f(left, b[i]);
  } else {
    for (i64 i = 0; i < n; ++i) y[i] = f(a[i * step_a], b[i * step_b]);
  }
}

template <class In, class Out, class F>
inline void binary_rows(const In* a, const In* b, Out* y, const Walk& walk, F f) {
  const int last = walk.rank - 1;
  const i64 length = walk.shape[last], step_a = walk.first[last], step_b = walk.second[last];
  const i64 segment = length < kElementGrain ? length : kElementGrain;
  const i64 per_row = (length + segment - 1) / segment;
  const i64 units = walk.size() / length * per_row;
  parallel_for(units, kElementGrain / segment, [&](i64 begin, i64 end) {
    const i64 first_row = begin / per_row;
    WalkPosition row(walk, last, first_row);
    i64 part = begin % per_row;
    Out* out = y + first_row * length;
    for (i64 unit = begin; unit < end; ++unit) {
      const i64 start = part * segment;
      const i64 size = length - start < segment ? length - start : segment;
      binary_row(a + row.first + start * step_a, step_a, b + row.second + start * step_b, step_b, out + start, size, f);
      if (++part == per_row) {
        part = 0;
        out += length;
        row.next();
      }
    }
  });
}

// Rows of at most this many elements are worth repeating: a call for each would cost more than its work.
constexpr i64 kShortRow = 64;

// [N, length] op [length] (or the other way round) with short rows: the repeated operand is laid out several times, so that
// many rows are one. Every element is computed from the same two numbers as before.
template <bool kFirstRepeats, class In, class Out, class F>
inline void binary_short_rows(const In* a, const In* b, Out* y, i64 rows, i64 length, F f) {
  In tile[4 * kShortRow];
  const i64 copies = 4 * kShortRow / length;
  const In* repeated = kFirstRepeats ? a : b;
  for (i64 c = 0; c < copies; ++c)
    for (i64 i = 0; i < length; ++i) tile[c * length + i] = repeated[i];
  parallel_for(rows, kElementGrain / length, [&](i64 begin, i64 end) {
    for (i64 row = begin; row < end; row += copies) {
      const i64 n = (end - row < copies ? end - row : copies) * length;
      if (kFirstRepeats)
        binary_row(static_cast<const In*>(tile), 1, b + row * length, 1, y + row * length, n, f);
      else
        binary_row(a + row * length, 1, static_cast<const In*>(tile), 1, y + row * length, n, f);
    }
  });
}

template <class In, class Out, class F>
inline void binary_map(const In* a, const In* b, Out* y, i64 n, const i32* dims, F f) {
  if (n <= 0) return;
  if (dims == nullptr) {
    parallel_for(n, kElementGrain, [=](i64 begin, i64 end) {
      binary_row(a + begin, 1, b + begin, 1, y + begin, end - begin, f);
    });
    return;
  }
  Walk walk(dims);
  walk.merge();
  if (walk.rank == 0) {
    y[0] = f(a[0], b[0]);
    return;
  }
  const i64 length = walk.shape[walk.rank - 1];
  if (walk.rank == 2 && length <= kShortRow && walk.first[1] == 1 && walk.second[1] == 1) {
    if (walk.first[0] == length && walk.second[0] == 0) return binary_short_rows<false>(a, b, y, walk.shape[0], length, f);
    if (walk.first[0] == 0 && walk.second[0] == length) return binary_short_rows<true>(a, b, y, walk.shape[0], length, f);
  }
  binary_rows(a, b, y, walk, f);
}

}  // namespace skein
