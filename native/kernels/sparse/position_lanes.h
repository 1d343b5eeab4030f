// Positions of entries, to go with lanes of floats: whole numbers as wide as the float, in the same shape.
#pragma once

#include <type_traits>

#include "support/lanes.h"

namespace skein {

template <class T>
struct PositionLanes {
  using Integer = std::conditional_t<sizeof(T) == 4, i32, i64>;
  static constexpr int count = Lanes<T>::count;
  static constexpr int parts = Lanes<T>::parts;
  typedef Integer Vector __attribute__((vector_size(kVectorBytes)));
  Vector part[parts];

  static inline PositionLanes set(i64 position) {
    PositionLanes r;
    for (int k = 0; k < parts; ++k) r.part[k] = static_cast<Integer>(position) - Vector{};
    return r;
  }
  static inline PositionLanes load(const i32* from, AllLanes = {}) {
    PositionLanes r;
    if constexpr (sizeof(T) == 4) {
      std::memcpy(r.part, from, sizeof r.part);
    } else {
      Integer positions[count];
      for (int i = 0; i < count; ++i) positions[i] = from[i];
      std::memcpy(r.part, positions, sizeof positions);
    }
    return r;
  }
  // The first n, the others -1.
  static inline PositionLanes load(const i32* from, int n) {
    i32 positions[count];
    for (int i = 0; i < count; ++i) positions[i] = i < n ? from[i] : -1;
    return load(positions);
  }
  inline void store(i32* to, i64 n) const {
    Integer positions[count];
    std::memcpy(positions, part, sizeof positions);
    for (i64 i = 0; i < n; ++i) to[i] = static_cast<i32>(positions[i]);
  }
};

// v where the positions are equal, else 0.
template <class T>
inline Lanes<T> where_equal(const PositionLanes<T>& a, const PositionLanes<T>& b, const Lanes<T>& v) {
  Lanes<T> r;
  for (int k = 0; k < Lanes<T>::parts; ++k) r.part[k] = a.part[k] == b.part[k] ? v.part[k] : typename Lanes<T>::Vector{};
  return r;
}

}  // namespace skein
