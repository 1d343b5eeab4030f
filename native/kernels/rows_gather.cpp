// gatherRows: random reads, sequential writes; putRows is its reverse. Rows are fetched ahead by their ids, since the hardware cannot guess
// them; large results are streamed (rows_stream.h).
#include "rows.h"

#include <cstring>
#include "rows_stream.h"

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

// memcpy, because rows of bytes may start anywhere; the compiler makes a plain move of it.
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

void gather_rows(const void* x, const i32* ids, void* y, i64 n, i64 rowBytes) {
  if (n <= 0 || rowBytes <= 0) return;
  if (rowBytes == 1 || rowBytes == 2 || rowBytes == 4 || rowBytes == 8) {
    parallel_for(n, kElementGrain, [&](i64 begin, i64 end) {
      if (rowBytes == 1) copy_elements<u8>(x, ids, y, begin, end);
      if (rowBytes == 2) copy_elements<u16>(x, ids, y, begin, end);
      if (rowBytes == 4) copy_elements<u32>(x, ids, y, begin, end);
      if (rowBytes == 8) copy_elements<u64>(x, ids, y, begin, end);
    });
    return;
  }
  const Rows rows{static_cast<const u8*>(x), ids, n, rowBytes, rows_ahead(rowBytes)};
  const i64 grain = rowBytes >= kChunkBytes ? 1 : kChunkBytes / rowBytes;
  u8* out = static_cast<u8*>(y);
  if (n * rowBytes >= kStreamBytes) {
    parallel_for(n, grain, [&](i64 begin, i64 end) { stream_rows(rows, out, begin, end); });
  } else {
    parallel_for(n, grain, [&](i64 begin, i64 end) { copy_rows(rows, out, begin, end); });
  }
}

void gather_rows_beside(const void* x, const i32* ids, void* y, i64 n, i64 rowBytes, i64 strideBytes) {
  if (n <= 0 || rowBytes <= 0) return;
  const Rows rows{static_cast<const u8*>(x), ids, n, rowBytes, rows_ahead(rowBytes)};
  parallel_for(n, rowBytes >= kChunkBytes ? 1 : kChunkBytes / rowBytes, [&](i64 begin, i64 end) {
    u8* to = static_cast<u8*>(y) + begin * strideBytes;
    for (i64 i = begin; i < end; ++i, to += strideBytes) {
      // Asking for a line before the first row is harmless.
      rows.fetch(i);
      if (ids[i] < 0) std::memset(to, 0, static_cast<size_t>(rowBytes));
      else copy_bytes(to, rows.row(i), rowBytes);
    }
  });
}

void put_rows(const void* src, const i32* ids, void* dst, i64 n, i64 rowBytes) {
  if (n <= 0 || rowBytes <= 0) return;
  const u8* from = static_cast<const u8*>(src);
  u8* to = static_cast<u8*>(dst);
  parallel_for(n, rowBytes >= kChunkBytes ? 1 : kChunkBytes / rowBytes, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      std::memcpy(to + static_cast<i64>(ids[i]) * rowBytes, from + i * rowBytes, static_cast<size_t>(rowBytes));
    }
  });
}

}  // namespace skein
