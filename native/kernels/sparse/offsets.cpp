// The comparisons behind for_rows: plain loops that the compiler makes vector code of.
#include "sparse/offsets.h"

#include <stdexcept>
#include <string>

namespace skein {
namespace {

template <class V>
bool rising(const V* boundaries, i64 from, i64 to) {
  int falls = 0;
  // False for NaN, too.
  for (i64 r = from; r < to; ++r) falls |= boundaries[r] <= boundaries[r + 1] ? 0 : 1;
  return falls == 0;
}

// The largest of some ids, negative ones being larger than all others. Several maxima side by side, so
// that no comparison waits for the one before.
u32 largest(const i32* ids, i64 n) {
  constexpr i64 kBlock = 64;
  u32 all = 0;
  i64 i = 0;
  if (n >= 4 * kBlock) {
    u32 most[kBlock] = {};
    for (; i + kBlock <= n; i += kBlock) {
      for (i64 k = 0; k < kBlock; ++k) {
        const u32 id = static_cast<u32>(ids[i + k]);
        most[k] = most[k] > id ? most[k] : id;
      }
    }
    for (i64 k = 0; k < kBlock; ++k) all = all > most[k] ? all : most[k];
  }
  for (; i < n; ++i) all = all > static_cast<u32>(ids[i]) ? all : static_cast<u32>(ids[i]);
  return all;
}

bool below(const EntryIds& ids, i64 begin, i64 end) {
  return begin >= end || largest(ids.data + begin, end - begin) < ids.limit;
}

std::string at(const std::string& name, i64 position, i64 value, const std::string& expected) {
  return name + "[" + std::to_string(position) + "] is " + std::to_string(value) + ", expected " + expected;
}

}  // namespace

bool Offsets::sound(i64 from, i64 to) const {
  const i64 begin = (*this)[from], end = (*this)[to];
  if (begin < 0 || end > entries) return false;
  if (!(wide ? rising(static_cast<const double*>(data), from, to) : rising(static_cast<const i32*>(data), from, to)))
    return false;
  for (const EntryIds& one : ids) {
    if (one.data != nullptr && !below(one, begin, end)) return false;
  }
  return true;
}

void Offsets::refuse(i64 rows) const {
  for (i64 r = 0; r <= rows; ++r) {
    const i64 low = r == 0 ? 0 : (*this)[r - 1];
    const i64 here = (*this)[r];
    if (here < low || here > entries)
      throw std::out_of_range(at("offsets", r, here, std::to_string(low) + " to " + std::to_string(entries)));
  }
  for (const EntryIds& one : ids) {
    for (i64 p = (*this)[0]; one.data != nullptr && p < (*this)[rows]; ++p) {
      if (one.data[p] < 0 || one.data[p] >= one.limit)
        throw std::out_of_range(at(one.name, p, one.data[p], "0 to " + std::to_string(one.limit - 1)));
    }
  }
  throw std::out_of_range("the offsets or indices changed during the call");
}

i64 find_fall(const i32* boundaries, i64 n) {
  std::atomic<bool> falls{false};
  parallel_for(n - 1, kElementGrain, [&](i64 begin, i64 end) {
    if (!rising(boundaries, begin, end)) falls.store(true, std::memory_order_relaxed);
  });
  if (!falls.load()) return -1;
  i64 position = 1;
  while (boundaries[position] >= boundaries[position - 1]) ++position;
  return position;
}

}  // namespace skein
