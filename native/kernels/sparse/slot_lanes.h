// Slots of entries beside lanes of floats: whole numbers as wide as the float, in the same shape.
#pragma once

#include <type_traits>

#include "support/lanes.h"

namespace skein {

template <class T>
struct SlotLanes {
  using Integer = std::conditional_t<sizeof(T) == 4, i32, i64>;
  static constexpr int count = Lanes<T>::count;
  static constexpr int parts = Lanes<T>::parts;
  typedef Integer Vector __attribute__((vector_size(kVectorBytes)));
  Vector part[parts];

  static inline SlotLanes set(i64 slot) {
    SlotLanes r;
    for (int k = 0; k < parts; ++k) r.part[k] = static_cast<Integer>(slot) - Vector{};
    return r;
  }
  static inline SlotLanes load(const i32* from, AllLanes = {}) {
    SlotLanes r;
    if constexpr (sizeof(T) == 4) {
      std::memcpy(r.part, from, sizeof r.part);
    } else {
      Integer slots[count];
      for (int i = 0; i < count; ++i) slots[i] = from[i];
      std::memcpy(r.part, slots, sizeof slots);
    }
    return r;
  }
  // The first n, the others -1.
  static inline SlotLanes load(const i32* from, int n) {
    i32 slots[count];
    for (int i = 0; i < count; ++i) slots[i] = i < n ? from[i] : -1;
    return load(slots);
  }
  inline void store(i32* to, i64 n) const {
    Integer slots[count];
    std::memcpy(slots, part, sizeof slots);
    for (i64 i = 0; i < n; ++i) to[i] = static_cast<i32>(slots[i]);
  }
};

// v where the slots are equal, else 0.
template <class T>
inline Lanes<T> where_equal(const SlotLanes<T>& a, const SlotLanes<T>& b, const Lanes<T>& v) {
  Lanes<T> r;
  for (int k = 0; k < Lanes<T>::parts; ++k) r.part[k] = a.part[k] == b.part[k] ? v.part[k] : typename Lanes<T>::Vector{};
  return r;
}

}  // namespace skein
