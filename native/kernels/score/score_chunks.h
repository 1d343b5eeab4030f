// How the chunks of a batch become tasks, and where the gradient of the negatives is gathered.
//
// A task is a part of one chunk; tasks depend on the sizes alone. Each writes the gradient of its chunk's negatives to a
// separate buffer; the parts of a chunk are added in order, then the chunks by scatter_add_rows, so that the sums do
// not depend on the threads.
#pragma once

#include "rows/rows.h"
#include "score/score_tiles.h"

namespace skein {
namespace score_detail {

constexpr i64 kTasks = 16;            // enough to keep a few threads busy when there are few chunks
constexpr i64 kPartRows = 128;        // fewer edges than this do not repay packing the negatives again
constexpr i64 kBufferSize = i64{1} << 22;
constexpr i64 kScoreSize = i64{1} << 16;  // scores that one thread works on at a time: they stay in its cache

struct Tasks {
  i64 edges, chunks, n, d, size, parts;

  Tasks(i64 edges, i64 chunks, i64 n, i64 d) : edges(edges), chunks(chunks), n(n), d(d), size(ceil_div(edges, chunks)) {
    const i64 room = std::max<i64>(1, kBufferSize / (chunks * n * d));
    parts = std::max<i64>(1, std::min({ceil_div(kTasks, chunks), size / kPartRows, room}));
  }
  i64 count() const { return chunks * parts; }
  // Tasks of one part are adjacent, so that part 0 of all chunks is one array.
  i64 chunk(i64 task) const { return task % chunks; }
  i64 begin(i64 task) const { return bound(task, task / chunks); }
  i64 end(i64 task) const { return bound(task, task / chunks + 1); }
  // Edges whose scores fit in the cache together.
  i64 band() const { return std::max<i64>(16, std::min(kPartRows, kScoreSize / n)); }

 private:
  i64 bound(i64 task, i64 part) const {
    const i64 first = std::min(edges, chunk(task) * size), last = std::min(edges, first + size);
    return first + (last - first) * part / parts;
  }
};

// Row stride of a matrix of scores: whole vectors, and an odd number of cache lines so that columns spread over sets.
template <class T>
inline i64 score_stride(i64 n) {
  constexpr i64 line = 64 / sizeof(T);
  return (ceil_div(ceil_div(n, Panels<T>::kWide) * Panels<T>::kWide, line) | 1) * line;
}

// Adds the buffers of all tasks ([parts][chunks][n][d], overwritten) to the rows of the negatives.
template <class T>
void add_negatives(const Tasks& tasks, T* buffers, const i32* negatives, T* g_rows, i64 row_count) {
  const i64 size = tasks.chunks * tasks.n * tasks.d;
  if (tasks.parts > 1) {
    parallel_for(size, kElementGrain / 4, [&](i64 begin, i64 end) {
      for (i64 part = 1; part < tasks.parts; ++part) {
        const T* next = buffers + part * size;
        for (i64 i = begin; i < end; ++i) buffers[i] += next[i];
      }
    });
  }
  scatter_add_rows(negatives, static_cast<const T*>(buffers), g_rows, tasks.chunks * tasks.n, row_count, tasks.d);
}

}  // namespace score_detail
}  // namespace skein
