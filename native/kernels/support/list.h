// An array whose values are checked where they are used: its address together with its length.
//
// Large structures (the offsets and indices of a graph) are not scanned at every call, and other code may change them
// while a call on the pool reads them. So a kernel that follows their values reads each once, and compares it first.
#pragma once

#include "support/common.h"

namespace skein {

template <class E>
struct List {
  E* data = nullptr;
  i64 size = 0;

  // One read of memory: what was compared is what is used.
  E operator[](i64 i) const { return *static_cast<const volatile E*>(data + i); }
  bool has(i64 i) const { return static_cast<u64>(i) < static_cast<u64>(size); }
};

// Results are the caller's memory as well, which another thread may overwrite during an asynchronous call. What a kernel
// wrote and reads back as an index is read once, and compared before it is used.
template <class E>
inline E read_once(const E* at) {
  return *static_cast<const volatile E*>(at);
}

}  // namespace skein
