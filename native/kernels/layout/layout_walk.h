// A walk over two strided arrays, with as few dimensions as possible.
//
// Dimensions of size 1 vanish and neighbours that step alike in both arrays merge, so that a kernel sees most calls
// as one or two dimensions whatever rank the tensors had.
#pragma once

#include <stdexcept>

#include "support/common.h"

namespace skein {

constexpr int kMaxRank = 16;

struct Walk {
  int rank = 0;
  i64 shape[kMaxRank];
  i64 first[kMaxRank];   // strides of the first array, in elements
  i64 second[kMaxRank];  // strides of the second

  // dims = [rank, ...shape, ...first strides, ...second strides].
  explicit Walk(const i32* dims) {
    const i32 given = dims[0];
    for (i32 d = 0; d < given; ++d) {
      const i64 size = dims[1 + d];
      if (size == 1) continue;
      if (rank == kMaxRank) throw std::length_error("more than 16 dimensions");
      shape[rank] = size;
      first[rank] = dims[1 + given + d];
      second[rank] = dims[1 + 2 * given + d];
      ++rank;
    }
  }

  i64 size() const {
    i64 product = 1;
    for (int d = 0; d < rank; ++d) product *= shape[d];
    return product;
  }

  void merge() {
    int kept = 0;
    for (int d = 1; d < rank; ++d) {
      const bool same = first[kept] == first[d] * shape[d] && second[kept] == second[d] * shape[d];
      if (same) {
        shape[kept] *= shape[d];
      } else {
        ++kept;
        shape[kept] = shape[d];
      }
      first[kept] = first[d];
      second[kept] = second[d];
    }
    if (rank > 0) rank = kept + 1;
  }

  // Orders the dimensions by falling stride of the second array (equal ones keep their order).
  void sort_by_second() {
    for (int d = 1; d < rank; ++d) {
      for (int k = d; k > 0 && second[k - 1] < second[k]; --k) swap(k - 1, k);
    }
  }

  void swap(int a, int b) {
    exchange(shape, a, b);
    exchange(first, a, b);
    exchange(second, a, b);
  }

 private:
  static void exchange(i64* values, int a, int b) {
    const i64 t = values[a];
    values[a] = values[b];
    values[b] = t;
  }
};

// A position in the leading `rank` dimensions of a walk and the offsets of both arrays there.
struct WalkPosition {
  const Walk& walk;
  const int rank;
  i64 index[kMaxRank] = {};
  i64 first = 0;
  i64 second = 0;

  WalkPosition(const Walk& w, int leading, i64 position) : walk(w), rank(leading) {
    for (int d = rank - 1; d >= 0; --d) {
      index[d] = position % walk.shape[d];
      position /= walk.shape[d];
      first += index[d] * walk.first[d];
      second += index[d] * walk.second[d];
    }
  }

  void next() {
    for (int d = rank - 1; d >= 0; --d) {
      first += walk.first[d];
      second += walk.second[d];
      if (++index[d] < walk.shape[d]) return;
      first -= walk.shape[d] * walk.first[d];
      second -= walk.shape[d] * walk.second[d];
      index[d] = 0;
    }
  }
};

}  // namespace skein
