// The row boundaries of a sparse structure, in either of the two array types, and the division of work by them.
#pragma once

#include <atomic>
#include <stdexcept>
#include <type_traits>

#include "support/common.h"

namespace skein {

// A number per entry that kernels follow to rows of another array, of which there are `limit`.
struct EntryIds {
  const i32* data = nullptr;
  i64 limit = 0;
  const char* name = "";
};

// i32, or double where there may be 2^31 entries or more.
struct Offsets {
  void* data = nullptr;
  bool wide = false;
  // Boundaries from JavaScript are checked by for_rows, chunk by chunk while it is in the cache anyway: boundaries never fall
  // and stay within `entries`, and the entries' numbers below their limits. Offsets of a kernel's own have −1.
  i64 entries = -1;
  EntryIds ids[2] = {};

  void follow(const i32* numbers, i64 limit, const char* name) {
    EntryIds& free = ids[0].data == nullptr ? ids[0] : ids[1];
    if (free.data != nullptr) throw std::logic_error("for_rows compares two lists of entries at most");
    free = {numbers, limit, name};
  }
  bool sound(i64 from, i64 to) const;
  // Throws std::out_of_range that names the first number which is not sound.
  [[noreturn]] void refuse(i64 rows) const;

  i64 operator[](i64 i) const {
    return wide ? static_cast<i64>(static_cast<const double*>(data)[i]) : static_cast<const i32*>(data)[i];
  }
  void set(i64 i, i64 value) const {
    if (wide) static_cast<double*>(data)[i] = static_cast<double>(value);
    else static_cast<i32*>(data)[i] = static_cast<i32>(value);
  }
};

// Entries per chunk for kernels that touch row_bytes per entry.
inline i64 entry_grain(i64 row_bytes) {
  constexpr i64 kChunkBytes = 1 << 18;
  const i64 entries = kChunkBytes / (row_bytes > 0 ? row_bytes : 1);
  return entries < 16 ? 16 : entries > kElementGrain / 4 ? kElementGrain / 4 : entries;
}

inline i64 row_chunks(const Offsets& offsets, i64 rows, i64 grain) {
  return rows <= 0 ? 0 : (offsets[rows] - offsets[0] + rows + grain - 1) / grain;
}

// Calls f(begin, end) or f(begin, end, chunk) for ranges of rows of about equal work, rows and entries counted alike:
// neither a row with very many entries nor millions of empty ones leave a thread behind. The boundaries depend on the
// structure alone.
template <class F>
inline void for_rows(const Offsets& offsets, i64 rows, i64 grain, F&& f) {
  if (rows <= 0) return;
  const bool checked = offsets.entries >= 0;
  std::atomic<i64> left{rows};  // rows that no chunk has taken: offsets that fall may hide some
  const i64 first = offsets[0];
  const i64 work = offsets[rows] - first + rows;
  const auto row_at = [&](i64 target) {
    i64 low = 0, high = rows;
    while (low < high) {
      const i64 mid = (low + high) / 2;
      if (offsets[mid] - first + mid < target) low = mid + 1;
      else high = mid;
    }
    return low;
  };
  parallel_for(
      work, grain,
      [&](i64 begin, i64 end) {
        const i64 from = row_at(begin);
        const i64 to = end >= work ? rows : row_at(end);
        if (from >= to) return;
        if (checked) {
          if (!offsets.sound(from, to)) return;
          left.fetch_sub(to - from, std::memory_order_relaxed);
        }
        if constexpr (std::is_invocable_v<F, i64, i64, i64>) f(from, to, begin / grain);
        else f(from, to);
      },
      Share::asked);
  if (checked && left.load() != 0) offsets.refuse(rows);
}

// The first of n boundaries that is lower than the one before it, or -1.
i64 find_fall(const i32* boundaries, i64 n);

}  // namespace skein
