// How rows move through the cache: fetched ahead of their use, and written past it when there are many.
//
// A result too large to stay in the cache is better written with streaming stores, which spare the memory bus the read
// of lines that are about to be overwritten. They only pay as whole, aligned cache lines: where a chunk ends within a
// line, that line waits in a buffer until the next chunk completes it.
#pragma once

#include <cstring>

#include "support/common.h"
#include "support/instructions.h"

namespace skein {

constexpr i64 kLineBytes = 64;
// Results beyond this are streamed: well above a core's own cache, so that the batch of a training step stays cached.
constexpr i64 kStreamBytes = 32 << 20;

// Up to 64 bytes, by two overlapping moves.
inline void copy_few(u8* SKEIN_RESTRICT dst, const u8* SKEIN_RESTRICT src, i64 bytes) {
  const auto ends = [&](auto word) {
    decltype(word) head, tail;
    std::memcpy(&head, src, sizeof head);
    std::memcpy(&tail, src + bytes - sizeof tail, sizeof tail);
    std::memcpy(dst, &head, sizeof head);
    std::memcpy(dst + bytes - sizeof tail, &tail, sizeof tail);
  };
  struct Half { u64 word[4]; };
  struct Quarter { u64 word[2]; };
  if (bytes >= 32) ends(Half{});
  else if (bytes >= 16) ends(Quarter{});
  else if (bytes >= 8) ends(u64{});
  else if (bytes >= 4) ends(u32{});
  else
    for (i64 k = 0; k < bytes; ++k) dst[k] = src[k];
}

inline void copy_bytes(u8* SKEIN_RESTRICT dst, const u8* SKEIN_RESTRICT src, i64 bytes) {
  i64 k = 0;
  for (; k + kLineBytes <= bytes; k += kLineBytes) std::memcpy(dst + k, src + k, kLineBytes);
  if (k < bytes) copy_few(dst + k, src + k, bytes - k);
}

// dst is aligned to a line.
inline void stream_line(u8* dst, const u8* src) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(dst), _mm512_loadu_si512(src));
#elif defined(__AVX2__)
  for (i64 k = 0; k < kLineBytes; k += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + k),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + k)));
#elif defined(__SSE2__)
  for (i64 k = 0; k < kLineBytes; k += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(dst + k), _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + k)));
#else
  std::memcpy(dst, src, kLineBytes);
#endif
}

// Prefetches the lines of a row that will be needed soon. Of a very wide one only the start is fetched; the hardware
// follows the rest by itself.
template <int for_writing>
inline void fetch_bytes(const void* row, i64 bytes) {
  constexpr i64 kFetchBytes = 2048;
  const u8* end = static_cast<const u8*>(row) + (bytes < kFetchBytes ? bytes : kFetchBytes);
  const u8* line = static_cast<const u8*>(row) - reinterpret_cast<std::uintptr_t>(row) % kLineBytes;
  for (; line < end; line += kLineBytes) __builtin_prefetch(line, for_writing);
}

// How many rows ahead to fetch. Rows may be empty.
inline i64 rows_ahead(i64 row_bytes) {
  constexpr i64 kAheadBytes = 4096, kAheadRows = 32;
  const i64 rows = row_bytes > 0 ? kAheadBytes / row_bytes : kAheadRows;
  return rows < 2 ? 2 : rows > kAheadRows ? kAheadRows : rows;
}

class StreamWriter {
 public:
  explicit StreamWriter(void* target)
      : from_(static_cast<i64>(reinterpret_cast<std::uintptr_t>(target) % kLineBytes)), fill_(from_),
        line_(static_cast<u8*>(target) - from_) {}

  void put(const void* data, i64 bytes) {
    const u8* src = static_cast<const u8*>(data);
    if (fill_ > 0) {
      const i64 room = kLineBytes - fill_;
      const i64 take = bytes < room ? bytes : room;
      copy_few(open_ + fill_, src, take);
      fill_ += take;
      src += take;
      bytes -= take;
      if (fill_ < kLineBytes) return;
      close_line();
    }
    for (; bytes >= kLineBytes; bytes -= kLineBytes, src += kLineBytes, line_ += kLineBytes) stream_line(line_, src);
    copy_few(open_, src, bytes);
    fill_ = bytes;
  }

  // Nothing may be put afterwards. Other threads see the data once this has returned.
  void finish() {
    std::memcpy(line_ + from_, open_ + from_, static_cast<std::size_t>(fill_ - from_));
#if defined(__SSE2__)
    _mm_sfence();
#endif
  }

 private:
  // The open line is full. The very first one may begin before the target: those bytes must not be written.
  void close_line() {
    if (from_ == 0) stream_line(line_, open_);
    else std::memcpy(line_ + from_, open_ + from_, static_cast<std::size_t>(kLineBytes - from_));
    line_ += kLineBytes;
    from_ = fill_ = 0;
  }

  alignas(kLineBytes) u8 open_[kLineBytes];
  i64 from_;
  i64 fill_;
  u8* line_;
};

}  // namespace skein
