// Sums over the features of each head, for one entry of a sparse structure.
//
// Heads of at least a vector are summed in lanes. Narrower ones first get all their products, which are then added in
// pairs, and the sums in pairs again, while the number left per head is even. Both orders depend on sizes alone.
#pragma once

#include <algorithm>
#include <vector>

#include "support/lanes.h"

namespace skein {

// The product of two rows of features, for EntryDots.
template <class T>
inline auto product_of(const T* a, const T* b) {
  return [=](i64 f, auto lanes) { return Lanes<T>::load(a + f, lanes, T(0)) * Lanes<T>::load(b + f, lanes, T(0)); };
}

template <class T>
class EntryDots {
 public:
  EntryDots(i64 heads, i64 width) : heads_(heads), width_(width) {
    if (!in_lanes()) {
      const std::size_t room = static_cast<std::size_t>(heads * width + 2 * Lanes<T>::count);
      products_.resize(room);
      pairs_.resize(room);
    }
  }

  // out[h] = Σ product(f) over the features f of head h. product(f, lanes) gives the lanes from f on; those beyond
  // the number of lanes are 0.
  template <class F>
  void operator()(F&& product, T* out) {
    if (in_lanes()) {
      for (i64 h = 0; h < heads_; ++h) {
        auto total = Lanes<T>::set(T(0));
        for_lanes<T>(width_, [&](i64 i, auto lanes) { total = total + product(h * width_ + i, lanes); });
        out[h] = sum(total);
      }
    } else if (width_ == 0) {
      std::fill(out, out + heads_, T(0));
    } else if (width_ == 1) {
      for_lanes<T>(heads_, [&](i64 i, auto lanes) { product(i, lanes).store(out + i, lanes); });
    } else {
      for_lanes<T>(heads_ * width_, [&](i64 i, auto lanes) { product(i, lanes).store(products_.data() + i); });
      fold_pairs(out);
    }
  }

 private:
  bool in_lanes() const { return heads_ == 1 || width_ >= Lanes<T>::count; }

  void fold_pairs(T* out) {
    T* from = products_.data();
    T* to = pairs_.data();
    i64 left = width_;
    for (; left % 2 == 0; left /= 2) {
      add_pairs(from, left == 2 ? out : to, heads_ * left / 2);
      T* other = from;
      from = to;
      to = other;
    }
    if (left == 1) return;
    for (i64 h = 0; h < heads_; ++h) {
      T total = from[h * left];
      for (i64 i = 1; i < left; ++i) total += from[h * left + i];
      out[h] = total;
    }
  }

  static void add_pairs(const T* SKEIN_RESTRICT from, T* SKEIN_RESTRICT to, i64 n) {
    for (i64 i = 0; i < n; ++i) to[i] = from[2 * i] + from[2 * i + 1];
  }

  i64 heads_;
  i64 width_;
  std::vector<T> products_, pairs_;
};

}  // namespace skein
