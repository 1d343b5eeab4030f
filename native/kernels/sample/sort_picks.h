// Sorts the picks of a sampler in private memory: the results are the caller's memory as well, and values that change while
// they are sorted would lead std::sort out of their range.
#pragma once

#include <algorithm>
#include <vector>

#include "support/common.h"

namespace skein {

inline void sort_picks(i32* to, i64 count) {
  constexpr i64 kFew = 64;
  i32 few[kFew];
  thread_local std::vector<i32> many;
  i32* own = few;
  if (count > kFew) {
    many.resize(static_cast<size_t>(count));
    own = many.data();
  }
  std::copy(to, to + count, own);
  std::sort(own, own + count);
  std::copy(own, own + count, to);
}

}  // namespace skein
