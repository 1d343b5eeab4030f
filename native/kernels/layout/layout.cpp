// Strided copy. The order of a copy is free, so the dimensions are sorted by the destination's strides first; then
// runs that are contiguous on both sides are copied whole, a dimension pair that is contiguous on one side each is
// transposed tile by tile, and the rest is a strided loop.
#include "layout/layout.h"

#include <cstring>

#include "support/instructions.h"
#include "layout/layout_walk.h"

namespace skein {

namespace {

// Bytes that one task moves at least, so that threads are not woken for less.
constexpr i64 kCopyBytes = 128 * 1024;

i64 pieces_per_chunk(i64 piece_bytes) { return piece_bytes >= kCopyBytes ? 1 : kCopyBytes / piece_bytes; }

void copy_runs(const char* src, char* dst, i64 bytes, const Walk& walk) {
  const int leading = walk.rank - 1;
  const i64 run_bytes = walk.shape[leading] * bytes;
  const i64 piece = run_bytes < kCopyBytes ? run_bytes : kCopyBytes;
  const i64 per_run = (run_bytes + piece - 1) / piece;
  const i64 runs = walk.size() / walk.shape[leading];
  parallel_for(runs * per_run, pieces_per_chunk(piece), [&](i64 begin, i64 end) {
    WalkPosition position(walk, leading, begin / per_run);
    i64 part = begin % per_run;
    for (i64 unit = begin; unit < end; ++unit) {
      const i64 start = part * piece;
      const i64 size = run_bytes - start < piece ? run_bytes - start : piece;
      std::memcpy(dst + position.second * bytes + start, src + position.first * bytes + start, size);
      if (++part == per_run) {
        part = 0;
        position.next();
      }
    }
  });
}

// A tile is kTileRows × kTileCols in the destination: whole cache lines on both sides.
constexpr i64 kTileRows = 64;
constexpr i64 kTileCols = 32;
// A destination this large leaves the cache before anyone reads it.
constexpr i64 kStreamBytes = 8 * 1024 * 1024;

template <class E>
struct SmallBlock {
  static constexpr i64 size = 1;
  static inline void transpose(const E* src, i64, E* dst) { dst[0] = src[0]; }
};

// Elements of two vectors by number; b's follow a's.
template <int... I, class Vector>
inline Vector pick(Vector a, Vector b) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, I...);
#else
  return __builtin_shuffle(a, b, Vector{I...});
#endif
}

// dst[i * kTileCols + j] = src[j * step + i] for a block of 16-byte rows.
template <>
struct SmallBlock<u32> {
  static constexpr i64 size = 4;
  typedef u32 Vector __attribute__((vector_size(16)));
  static inline void transpose(const u32* src, i64 step, u32* dst) {
    Vector a, b, c, d;
    __builtin_memcpy(&a, src, 16);
    __builtin_memcpy(&b, src + step, 16);
    __builtin_memcpy(&c, src + 2 * step, 16);
    __builtin_memcpy(&d, src + 3 * step, 16);
    const auto low = [](Vector u, Vector v) { return pick<0, 4, 1, 5>(u, v); };
    const auto high = [](Vector u, Vector v) { return pick<2, 6, 3, 7>(u, v); };
    const Vector ac_low = low(a, c), ac_high = high(a, c), bd_low = low(b, d), bd_high = high(b, d);
    const Vector rows[4] = {low(ac_low, bd_low), high(ac_low, bd_low), low(ac_high, bd_high), high(ac_high, bd_high)};
    for (i64 i = 0; i < 4; ++i) __builtin_memcpy(dst + i * kTileCols, &rows[i], 16);
  }
};

template <>
struct SmallBlock<u64> {
  static constexpr i64 size = 2;
  typedef u64 Vector __attribute__((vector_size(16)));
  static inline void transpose(const u64* src, i64 step, u64* dst) {
    Vector a, b;
    __builtin_memcpy(&a, src, 16);
    __builtin_memcpy(&b, src + step, 16);
    const Vector first = pick<0, 2>(a, b), second = pick<1, 3>(a, b);
    __builtin_memcpy(dst, &first, 16);
    __builtin_memcpy(dst + kTileCols, &second, 16);
  }
};

// Writes lines past the cache, which saves reading their old content first; dst starts a cache line.
inline void stream_line(char* dst, const char* src, i64 bytes) {
#ifdef __SSE2__
  for (i64 i = 0; i < bytes; i += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(dst + i), _mm_load_si128(reinterpret_cast<const __m128i*>(src + i)));
  }
#else
  std::memcpy(dst, src, static_cast<size_t>(bytes));
#endif
}

inline void finish_streams() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

// dst[i * dst_step + j] = src[j * src_step + i] for i < rows, j < cols, at most a tile.
template <class E>
inline void transpose_tile(const E* SKEIN_RESTRICT src, i64 src_step, E* SKEIN_RESTRICT dst, i64 dst_step, i64 rows,
                           i64 cols, bool stream) {
  if (rows < kTileRows || cols < kTileCols) {
    for (i64 i = 0; i < rows; ++i) {
      for (i64 j = 0; j < cols; ++j) dst[i * dst_step + j] = src[j * src_step + i];
    }
    return;
  }
  // The tile goes through a buffer: lines that are a power of two apart would evict each other half written.
  alignas(64) E buffer[kTileRows * kTileCols];
  constexpr i64 s = SmallBlock<E>::size;
  constexpr i64 line_bytes = kTileCols * static_cast<i64>(sizeof(E));
  constexpr i64 line = 64 / static_cast<i64>(sizeof(E));
  for (i64 i = 0; i < kTileRows && !stream; ++i) {
    for (i64 j = 0; j < kTileCols; j += line) __builtin_prefetch(dst + i * dst_step + j, 1);
  }
  for (i64 j = 0; j < kTileCols; j += s) {
    // The same lines of the next tile; its rows are too far apart for the processor to guess.
    for (i64 k = j; k < j + s; ++k) {
      for (i64 i = 0; i < kTileRows; i += line) __builtin_prefetch(src + (k + kTileCols) * src_step + i);
    }
    for (i64 i = 0; i < kTileRows; i += s) {
      SmallBlock<E>::transpose(src + j * src_step + i, src_step, buffer + i * kTileCols + j);
    }
  }
  for (i64 i = 0; i < kTileRows; ++i) {
    char* to = reinterpret_cast<char*>(dst + i * dst_step);
    const char* from = reinterpret_cast<const char*>(buffer + i * kTileCols);
    if (stream) stream_line(to, from, line_bytes);
    else std::memcpy(to, from, line_bytes);
  }
}

// How many elements of a row come before its first cache line; -1 when the rows differ in that.
template <class E>
i64 elements_before_line(const E* dst, const Walk& walk) {
  constexpr i64 size = sizeof(E);
  for (int d = 0; d + 1 < walk.rank; ++d) {
    if (walk.second[d] * size % 64 != 0) return -1;
  }
  return (64 - static_cast<i64>(reinterpret_cast<std::uintptr_t>(dst) % 64)) % 64 / size;
}

// The source is contiguous in the last dimension but one of the walk, the destination in the last.
template <class E>
void copy_transposed(const E* src, E* dst, const Walk& walk) {
  const int outer = walk.rank - 2, inner = walk.rank - 1;
  const i64 rows = walk.shape[outer], cols = walk.shape[inner];
  const i64 src_step = walk.first[inner], dst_step = walk.second[outer];
  const i64 before = elements_before_line(dst, walk);
  const bool stream = before >= 0 && walk.size() * static_cast<i64>(sizeof(E)) >= kStreamBytes;
  // When streaming, the first tile of a row ends where a cache line begins.
  const i64 first = stream && before > 0 && before < cols ? before : 0;
  const i64 tiles_down = (rows + kTileRows - 1) / kTileRows;
  const i64 tiles_across = (first > 0) + (cols - first + kTileCols - 1) / kTileCols;
  const i64 planes = walk.size() / (rows * cols);
  const i64 tile_bytes =
      (rows < kTileRows ? rows : kTileRows) * (cols < kTileCols ? cols : kTileCols) * static_cast<i64>(sizeof(E));
  parallel_for(planes * tiles_down * tiles_across, pieces_per_chunk(tile_bytes), [&](i64 begin, i64 end) {
    WalkPosition position(walk, outer, begin / (tiles_down * tiles_across));
    i64 down = begin / tiles_across % tiles_down, across = begin % tiles_across;
    for (i64 unit = begin; unit < end; ++unit) {
      const i64 i = down * kTileRows, height = rows - i < kTileRows ? rows - i : kTileRows;
      const bool leading = first > 0 && across == 0;
      const i64 j = leading ? 0 : first + (across - (first > 0)) * kTileCols;
      const i64 width = leading ? first : cols - j < kTileCols ? cols - j : kTileCols;
      transpose_tile(src + position.first + j * src_step + i, src_step, dst + position.second + i * dst_step + j,
                     dst_step, height, width, stream);
      if (++across < tiles_across) continue;
      across = 0;
      if (++down < tiles_down) continue;
      down = 0;
      position.next();
    }
    if (stream) finish_streams();
  });
}

template <class E>
void copy_elements(const E* src, E* dst, const Walk& walk) {
  const int last = walk.rank - 1;
  const i64 length = walk.shape[last], src_step = walk.first[last], dst_step = walk.second[last];
  const i64 rows = walk.size() / length;
  parallel_for(rows, pieces_per_chunk(length * static_cast<i64>(sizeof(E))), [&](i64 begin, i64 end) {
    WalkPosition position(walk, last, begin);
    for (i64 row = begin; row < end; ++row, position.next()) {
      const E* SKEIN_RESTRICT from = src + position.first;
      E* SKEIN_RESTRICT to = dst + position.second;
      if (src_step == 0 && dst_step == 1) {
        const E value = from[0];
        for (i64 i = 0; i < length; ++i) to[i] = value;
      } else if (dst_step == 1) {
        for (i64 i = 0; i < length; ++i) to[i] = from[i * src_step];
      } else {
        for (i64 i = 0; i < length; ++i) to[i * dst_step] = from[i * src_step];
      }
    }
  });
}

template <class E>
void copy_typed(const void* src, void* dst, Walk& walk) {
  const E* from = static_cast<const E*>(src);
  E* to = static_cast<E*>(dst);
  const int last = walk.rank - 1;
  if (walk.second[last] == 1 && walk.first[last] > 1) {
    // Bring the dimension in which the source is contiguous next to the last.
    for (int d = 0; d < last; ++d) {
      if (walk.first[d] != 1 || walk.shape[d] < 4) continue;
      for (int k = d; k + 1 < last; ++k) walk.swap(k, k + 1);
      return copy_transposed(from, to, walk);
    }
  }
  copy_elements(from, to, walk);
}

}  // namespace

void copy_strided(const void* src, void* dst, i64 element_bytes, const i32* dims) {
  Walk walk(dims);
  if (walk.size() == 0) return;
  walk.sort_by_second();
  walk.merge();
  const int last = walk.rank - 1;
  if (walk.rank == 0) {
    std::memcpy(dst, src, static_cast<size_t>(element_bytes));
    return;
  }
  if (walk.first[last] == 1 && walk.second[last] == 1) {
    return copy_runs(static_cast<const char*>(src), static_cast<char*>(dst), element_bytes, walk);
  }
  switch (element_bytes) {
    case 1: return copy_typed<u8>(src, dst, walk);
    case 2: return copy_typed<u16>(src, dst, walk);
    case 4: return copy_typed<u32>(src, dst, walk);
    default: return copy_typed<u64>(src, dst, walk);
  }
}

}  // namespace skein
