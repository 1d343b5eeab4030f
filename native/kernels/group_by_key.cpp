// groupByKey: a counting sort.
#include "group_by_key.h"

#include <vector>

namespace skein {

void group_by_key(const i32* keys, Offsets offsets, i32* order, i64 n, i64 count) {
  std::vector<i64> next(static_cast<std::size_t>(count + 1));
  for (i64 i = 0; i < n; ++i) ++next[keys[i] + 1];
  for (i64 k = 0; k < count; ++k) next[k + 1] += next[k];
  for (i64 k = 0; k <= count; ++k) offsets.set(k, next[k]);
  for (i64 i = 0; i < n; ++i) order[next[keys[i]]++] = static_cast<i32>(i);
}

}  // namespace skein
