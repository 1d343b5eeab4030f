// scatterAddRows and coalesceRows: sums of rows with the same id, formed in ascending position.
//
// scatterAddRows shares the destinations out in ranges of ids and adds each range's rows as they come: measured faster
// than sorting, which would load and store a destination only once but reads the source in random order. On one thread
// it adds row by row. Both give the same bits, since a destination meets its rows in the same order. coalesceRows needs
// its ids sorted anyway, and sums runs of equal ids. Where one range or run holds a large fraction of all rows (a hub), its
// columns are divided among threads instead.
#include <cstring>
#include <vector>

#include "rows/rows.h"
#include "rows/rows_order.h"
#include "rows/rows_stream.h"

namespace skein {
namespace {

constexpr i64 kChunkBytes = 1 << 20;
constexpr i64 kMinChunkRows = 1024;
constexpr i64 kMaxChunkRows = 16384;
// Below this many bytes of source rows, sharing them out costs more than it saves.
constexpr i64 kDirectBytes = 1 << 18;
constexpr i64 kHubColumns = 32;
// Enough to keep many threads busy, few enough that a bucket still walks the source nearly in order.
constexpr i64 kBuckets = 64;

template <class T>
inline void add_row(T* SKEIN_RESTRICT dst, const T* SKEIN_RESTRICT src, i64 width) {
#pragma omp simd
  for (i64 j = 0; j < width; ++j) dst[j] += src[j];
}

template <int for_writing, class T>
inline void fetch_row(const T* row, i64 width) {
  fetch_bytes<for_writing>(row, width * static_cast<i64>(sizeof(T)));
}

inline i64 chunk_rows(i64 row_bytes) {
  const i64 rows = kChunkBytes / row_bytes;
  return rows < kMinChunkRows ? kMinChunkRows : rows > kMaxChunkRows ? kMaxChunkRows : rows;
}

template <class T>
void add_directly(const i32* ids, const T* src, T* dst, i64 n, i64 width) {
  if (width == 1) {
    for (i64 i = 0; i < n; ++i) dst[ids[i]] += src[i];
    return;
  }
  const i64 ahead = rows_ahead(width * static_cast<i64>(sizeof(T)));
  for (i64 i = 0; i < n; ++i) {
    if (i + ahead < n) fetch_row<1>(dst + ids[i + ahead] * width, width);
    add_row(dst + ids[i] * width, src + i * width, width);
  }
}

// Adds columns [from, to) of a bucket's rows to their destinations.
template <class T>
void add_bucket(const RowBuckets& rows, i64 bucket, const T* src, T* dst, i64 width, i64 from, i64 to) {
  const i64 columns = to - from;
  const i64 ahead = rows_ahead(columns * static_cast<i64>(sizeof(T)));
  const i64 end = rows.end(bucket);
  for (i64 k = rows.begin(bucket); k < end; ++k) {
    if (k + ahead < end) {
      fetch_row<0>(src + rows.position(k + ahead) * width + from, columns);
      fetch_row<1>(dst + rows.id(k + ahead) * width + from, columns);
    }
    add_row(dst + rows.id(k) * width + from, src + rows.position(k) * width + from, columns);
  }
}

struct Run {
  i64 begin;
  i64 end;
  i64 index;  // how many runs of its chunk come before
};

// Calls body(chunk, run, from, to) so that every run of equal ids gets all its columns [0, width): whole runs in
// parallel, then runs longer than a chunk one at a time with their columns in parallel. A run belongs to the chunk in
// which it begins, so a chunk has at most one of the long ones, and it is the last.
template <class Body>
void for_each_run(const RowOrder& order, i64 grain, i64 width, Body body) {
  const i64 n = order.size();
  std::vector<Run> hubs(static_cast<std::size_t>((n + grain - 1) / grain), Run{-1, -1, 0});
  parallel_for(n, grain, [&](i64 begin, i64 end) {
    i64 k = begin;
    while (k < end && !order.starts(k)) ++k;
    for (i64 index = 0; k < end; ++index) {
      if (k + grain < n && order.id(k + grain) == order.id(k)) {
        hubs[begin / grain] = Run{k, order.run_end(k + grain), index};
        break;
      }
      const Run run{k, order.run_end(k), index};
      body(begin / grain, run, 0, width);
      k = run.end;
    }
  });
  for (std::size_t chunk = 0; chunk < hubs.size(); ++chunk) {
    if (hubs[chunk].begin < 0) continue;
    parallel_for(width, kHubColumns, [&](i64 from, i64 to) { body(static_cast<i64>(chunk), hubs[chunk], from, to); });
  }
}

// Adds columns [from, to) of the run's rows to dst; with `fresh`, dst starts as a copy of the first row.
template <bool fresh, class T>
void add_run(const RowOrder& order, const Run& run, const T* src, T* dst, i64 width, i64 from, i64 to) {
  const i64 columns = to - from;
  const i64 ahead = rows_ahead(columns * static_cast<i64>(sizeof(T)));
  for (i64 k = run.begin; k < run.end; ++k) {
    if (k + ahead < order.size()) fetch_row<0>(src + order.position(k + ahead) * width + from, columns);
    const T* row = src + order.position(k) * width + from;
    if (fresh && k == run.begin) std::memcpy(dst + from, row, static_cast<std::size_t>(columns) * sizeof(T));
    else add_row(dst + from, row, columns);
  }
}

}  // namespace

template <class T>
void scatter_add_rows(const i32* ids, const T* src, T* dst, i64 n, i64 rows, i64 width) {
  if (n <= 0 || width <= 0) return;
  const i64 row_bytes = width * static_cast<i64>(sizeof(T));
  // Distributing narrow rows over threads takes two to three times as long as adding them.
  const int fewest = row_bytes <= 8 ? 4 : 2;
  if (n * row_bytes <= kDirectBytes || threads() < fewest) {
    add_directly(ids, src, dst, n, width);
    return;
  }
  const RowBuckets buckets(ids, n, rows, kBuckets);
  const auto heavy = [&](i64 b) { return buckets.end(b) - buckets.begin(b) > n / 16; };
  parallel_for(buckets.count(), 1, [&](i64 b, i64) {
    if (!heavy(b)) add_bucket(buckets, b, src, dst, width, 0, width);
  });
  for (i64 b = 0; b < buckets.count(); ++b) {
    if (!heavy(b)) continue;
    parallel_for(width, kHubColumns, [&](i64 from, i64 to) { add_bucket(buckets, b, src, dst, width, from, to); });
  }
}

template <class T>
i64 coalesce_rows(const i32* ids, const T* src, i32* out_ids, T* out_rows, i64 n, i64 rows, i64 width) {
  if (n <= 0) return 0;
  const RowOrder order(ids, n, rows);
  const i64 grain = chunk_rows((width > 0 ? width : 1) * static_cast<i64>(sizeof(T)));
  std::vector<i64> first(static_cast<std::size_t>((n + grain - 1) / grain), 0);
  parallel_for(n, grain, [&](i64 begin, i64 end) {
    i64 starts = 0;
    for (i64 k = begin; k < end; ++k) starts += order.starts(k);
    first[begin / grain] = starts;
  });
  i64 total = 0;
  for (i64& count : first) {
    const i64 here = count;
    count = total;
    total += here;
  }
  for_each_run(order, grain, width, [&](i64 chunk, const Run& run, i64 from, i64 to) {
    const i64 slot = first[chunk] + run.index;
    out_ids[slot] = static_cast<i32>(order.id(run.begin));
    if (from < to) add_run<true>(order, run, src, out_rows + slot * width, width, from, to);
  });
  return total;
}

template void scatter_add_rows<float>(const i32*, const float*, float*, i64, i64, i64);
template void scatter_add_rows<double>(const i32*, const double*, double*, i64, i64, i64);
template i64 coalesce_rows<float>(const i32*, const float*, i32*, float*, i64, i64, i64);
template i64 coalesce_rows<double>(const i32*, const double*, i32*, double*, i64, i64, i64);

}  // namespace skein
