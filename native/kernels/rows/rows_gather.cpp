// gatherRows: random reads, sequential writes; putRows is its reverse. Rows are fetched ahead by their ids, since the hardware cannot guess
// them; large results are streamed (rows_stream.h).
#include "rows/rows.h"

#include <cstring>
#include "rows/rows_stream.h"

namespace skein {
namespace {

constexpr i64 kChunkBytes = 1 << 18;

struct Rows {
  const u8* x;
  const i32* ids;
  i64 n;
  i64 bytes;
  i64 ahead;

  const u8* row(i64 i) const { return x + static_cast<i64>(ids[i]) * bytes; }
  void fetch(i64 i) const {
    if (i + ahead < n) fetch_bytes<0>(row(i + ahead), bytes);
  }
};

// memcpy, because rows of bytes may start at any address; the compiler makes a plain move of it.
template <class E>
void copy_elements(const void* x, const i32* ids, void* y, i64 begin, i64 end) {
  const u8* SKEIN_RESTRICT from = static_cast<const u8*>(x);
  u8* SKEIN_RESTRICT to = static_cast<u8*>(y);
  for (i64 i = begin; i < end; ++i) {
    std::memcpy(to + i * i64{sizeof(E)}, from + static_cast<i64>(ids[i]) * i64{sizeof(E)}, sizeof(E));
  }
}

void copy_rows(const Rows& rows, u8* y, i64 begin, i64 end) {
  for (i64 i = begin; i < end; ++i) {
    rows.fetch(i);
    copy_bytes(y + i * rows.bytes, rows.row(i), rows.bytes);
  }
}

void stream_rows(const Rows& rows, u8* y, i64 begin, i64 end) {
  StreamWriter writer(y + begin * rows.bytes);
  for (i64 i = begin; i < end; ++i) {
    rows.fetch(i);
    writer.put(rows.row(i), rows.bytes);
  }
  writer.finish();
}

}  // namespace

void gather_rows(const void* x, const i32* ids, void* y, i64 n, i64 row_bytes) {
  if (n <= 0 || row_bytes <= 0) return;
  if (row_bytes == 1 || row_bytes == 2 || row_bytes == 4 || row_bytes == 8) {
    parallel_for(n, kElementGrain, [&](i64 begin, i64 end) {
      if (row_bytes == 1) copy_elements<u8>(x, ids, y, begin, end);
      if (row_bytes == 2) copy_elements<u16>(x, ids, y, begin, end);
      if (row_bytes == 4) copy_elements<u32>(x, ids, y, begin, end);
      if (row_bytes == 8) copy_elements<u64>(x, ids, y, begin, end);
    });
    return;
  }
  const Rows rows{static_cast<const u8*>(x), ids, n, row_bytes, rows_ahead(row_bytes)};
  const i64 grain = row_bytes >= kChunkBytes ? 1 : kChunkBytes / row_bytes;
  u8* out = static_cast<u8*>(y);
  if (n * row_bytes >= kStreamBytes) {
    parallel_for(n, grain, [&](i64 begin, i64 end) { stream_rows(rows, out, begin, end); });
  } else {
    parallel_for(n, grain, [&](i64 begin, i64 end) { copy_rows(rows, out, begin, end); });
  }
}

void gather_rows_strided(const void* x, const i32* ids, void* y, i64 n, i64 row_bytes, i64 stride_bytes) {
  if (n <= 0 || row_bytes <= 0) return;
  const Rows rows{static_cast<const u8*>(x), ids, n, row_bytes, rows_ahead(row_bytes)};
  parallel_for(n, row_bytes >= kChunkBytes ? 1 : kChunkBytes / row_bytes, [&](i64 begin, i64 end) {
    u8* to = static_cast<u8*>(y) + begin * stride_bytes;
    for (i64 i = begin; i < end; ++i, to += stride_bytes) {
      // Asking for a line before the first row is harmless.
      rows.fetch(i);
      if (ids[i] < 0) std::memset(to, 0, static_cast<size_t>(row_bytes));
      else copy_bytes(to, rows.row(i), row_bytes);
    }
  });
}

void put_rows(const void* src, const i32* ids, void* dst, i64 n, i64 row_bytes) {
  if (n <= 0 || row_bytes <= 0) return;
  const u8* from = static_cast<const u8*>(src);
  u8* to = static_cast<u8*>(dst);
  parallel_for(n, row_bytes >= kChunkBytes ? 1 : kChunkBytes / row_bytes, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      std::memcpy(to + static_cast<i64>(ids[i]) * row_bytes, from + i * row_bytes, static_cast<size_t>(row_bytes));
    }
  });
}

}  // namespace skein
