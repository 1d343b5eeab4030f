// segmentReduce and its gradient.
//
// Work is divided by rows plus segments, so that neither a giant segment nor millions of empty ones unbalance the threads.
// A segment of more than kBlockRows rows is reduced block by block, and then its partial results like rows; this
// depends on sizes alone, so the result is the same for any number of threads.
#include "segment/segment.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "rows/rows_stream.h"
#include "segment/segment_rows.h"

namespace skein {
namespace {

using segment::Op;

constexpr i64 kBlockRows = 1024;
constexpr i64 kChunkBytes = 1 << 17;

inline i64 rows_per_chunk(i64 row_bytes) {
  const i64 rows = kChunkBytes / (row_bytes > 0 ? row_bytes : 1);
  return rows < 8 ? 8 : rows > kElementGrain ? kElementGrain : rows;
}

// Calls f(begin, end) for ranges of segments of about equal work: rows and segments counted alike.
template <class F>
void for_segments(const i32* offsets, i64 segments, i64 grain, F f) {
  const i64 work = offsets[segments] - offsets[0] + segments;
  const auto first_at = [&](i64 target) {
    i64 low = 0, high = segments;
    while (low < high) {
      const i64 mid = (low + high) / 2;
      if (offsets[mid] - offsets[0] + mid < target) low = mid + 1;
      else high = mid;
    }
    return low;
  };
  parallel_for(work, grain, [&](i64 begin, i64 end) {
    const i64 from = first_at(begin);
    const i64 to = end >= work ? segments : first_at(end);
    if (from < to) f(from, to);
  });
}

struct Block {
  i64 segment;
  i64 row;
};

template <class T>
struct Reduction {
  Op op;
  const T* x;
  const i32* offsets;
  T* y;
  i32* arg;
  i64 segments;
  i64 width;

  i64 limit(i64 row) const { return (offsets[segments] - row) * width; }
  i64 rows(i64 s) const { return offsets[s + 1] - offsets[s]; }

  void one(i64 s) const {
    T* out = y + s * width;
    i32* out_arg = arg == nullptr ? nullptr : arg + s * width;
    const i64 first = offsets[s];
    if (rows(s) > 0) {
      segment::reduce_rows(op, x + first * width, rows(s), width, limit(first), out, out_arg, first, rows(s));
      return;
    }
    std::fill(out, out + width, T(0));
    if (out_arg != nullptr && op >= Op::max) std::fill(out_arg, out_arg + width, -1);
  }

  // Segments of more than one block: all blocks in parallel, then the blocks of each segment in order.
  void long_ones() const {
    std::vector<Block> blocks;
    std::vector<i64> starts;
    for (i64 s = 0; s < segments; ++s) {
      if (rows(s) <= kBlockRows) continue;
      starts.push_back(static_cast<i64>(blocks.size()));
      for (i64 row = offsets[s]; row < offsets[s + 1]; row += kBlockRows) blocks.push_back(Block{s, row});
    }
    const i64 count = static_cast<i64>(blocks.size());
    starts.push_back(count);
    const bool indexed = op >= Op::max;
    std::vector<T> partial(static_cast<std::size_t>(count * width));
    std::vector<i32> partial_arg(static_cast<std::size_t>(indexed ? count * width : 0));
    parallel_for(count, 1, [&](i64 b, i64) {
      const Block block = blocks[b];
      const i64 end = std::min<i64>(block.row + kBlockRows, offsets[block.segment + 1]);
      segment::reduce_rows(op == Op::mean ? Op::sum : op, x + block.row * width, end - block.row, width,
                           limit(block.row), partial.data() + b * width,
                           indexed ? partial_arg.data() + b * width : nullptr, block.row, 1);
    });
    parallel_for(static_cast<i64>(starts.size()) - 1, 1, [&](i64 k, i64) {
      const i64 b = starts[k];
      const i64 s = blocks[b].segment;
      std::vector<i32> winner(static_cast<std::size_t>(indexed ? width : 0));
      segment::reduce_rows(op, partial.data() + b * width, starts[k + 1] - b, width, (count - b) * width, y + s * width,
                           indexed ? winner.data() : nullptr, b, rows(s));
      if (!indexed || arg == nullptr) return;
      for (i64 j = 0; j < width; ++j) arg[s * width + j] = partial_arg[winner[j] * width + j];
    });
  }
};

}  // namespace

template <class T>
void segment_reduce(i64 op, const T* x, const i32* offsets, T* y, i32* arg, i64 segments, i64 width) {
  if (segments <= 0 || width <= 0) return;
  const Reduction<T> reduction{static_cast<Op>(op), x, offsets, y, arg, segments, width};
  std::atomic<bool> has_long{false};
  for_segments(offsets, segments, rows_per_chunk(width * static_cast<i64>(sizeof(T))), [&](i64 from, i64 to) {
    for (i64 s = from; s < to; ++s) {
      if (reduction.rows(s) <= kBlockRows) reduction.one(s);
      else has_long.store(true, std::memory_order_relaxed);
    }
  });
  if (has_long.load()) reduction.long_ones();
}

namespace {

// Rows [begin, end) of the gradient of sum or mean: each is its segment's row of gy, divided by the size for mean.
template <class T>
void spread_rows(bool mean, const T* gy, const i32* offsets, T* gx, i64 s, i64 begin, i64 end, i64 width, bool stream) {
  const i64 bytes = width * static_cast<i64>(sizeof(T));
  std::vector<T> scaled(static_cast<std::size_t>(mean ? width : 0));
  StreamWriter writer(gx + begin * width);
  for (i64 row = begin; row < end; ++s) {
    const i64 stop = std::min<i64>(offsets[s + 1], end);
    if (stop <= row) continue;
    const T* from = gy + s * width;
    if (mean) {
      const T size = static_cast<T>(offsets[s + 1] - offsets[s]);
      for (i64 j = 0; j < width; ++j) scaled[j] = from[j] / size;
      from = scaled.data();
    }
    for (; row < stop; ++row) {
      if (stream) writer.put(from, bytes);
      else copy_bytes(reinterpret_cast<u8*>(gx + row * width), reinterpret_cast<const u8*>(from), bytes);
    }
  }
  if (stream) writer.finish();
}

// Rows [begin, end) of the gradient of max or min: 0 but where the row won.
template <class T>
void place_rows(const T* gy, const i32* offsets, const i32* arg, T* gx, i64 s, i64 begin, i64 end, i64 width) {
  std::fill(gx + begin * width, gx + end * width, T(0));
  for (; offsets[s] < end; ++s) {
    for (i64 j = 0; j < width; ++j) {
      const i64 row = arg[s * width + j];
      if (row >= begin && row < end) gx[row * width + j] = gy[s * width + j];
    }
    if (offsets[s + 1] >= end) break;
  }
}

}  // namespace

template <class T>
void segment_reduce_backward(i64 op, const T* gy, const i32* offsets, const i32* arg, T* gx, i64 segments, i64 width) {
  if (segments <= 0 || width <= 0) return;
  const i64 first = offsets[0];
  const i64 rows = offsets[segments] - first;
  const i64 row_bytes = width * static_cast<i64>(sizeof(T));
  const bool stream = rows * row_bytes >= kStreamBytes;
  parallel_for(rows, rows_per_chunk(row_bytes), [&](i64 from, i64 to) {
    const i64 begin = first + from;
    const i64 end = first + to;
    // The segment that holds row `begin`: the last one that starts at or before it.
    const i64 s = std::upper_bound(offsets, offsets + segments + 1, static_cast<i32>(begin)) - offsets - 1;
    if (static_cast<Op>(op) < Op::max) {
      spread_rows(static_cast<Op>(op) == Op::mean, gy, offsets, gx, s, begin, end, width, stream);
    } else {
      place_rows(gy, offsets, arg, gx, s, begin, end, width);
    }
  });
}

template void segment_reduce<float>(i64, const float*, const i32*, float*, i32*, i64, i64);
template void segment_reduce<double>(i64, const double*, const i32*, double*, i32*, i64, i64);
template void segment_reduce_backward<float>(i64, const float*, const i32*, const i32*, float*, i64, i64);
template void segment_reduce_backward<double>(i64, const double*, const i32*, const i32*, double*, i64, i64);

}  // namespace skein
