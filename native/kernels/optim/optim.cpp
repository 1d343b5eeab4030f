// Optimiser steps. Each rule is a small struct whose span() updates a contiguous stretch; the dense kernels call it on
// chunks of the whole parameter, the row kernels on the rows named by ids.
//
// A step is bound by memory: it reads the gradient, and reads and writes the parameter and its state once each.
// Options that change the formula are template arguments, so the loops carry no branches and vectorise; constants are
// copied to locals, since the compiler otherwise reloads them after every store.
#include "optim/optim.h"

#include <cmath>

namespace skein {
namespace {

constexpr i64 kLine = 64;
constexpr i64 kRowsPerFork = 4096;  // elements, in rows, below which a second thread is not worth waking
constexpr i64 kAheadRows = 8;

// Weight decay of Adam: added to the gradient, or (AdamW) applied to the parameter itself.
enum class Decay { none, gradient, parameter };

// How the momentum buffer is used: not at all, as a copy of the first gradient, or as a running mix.
enum class Momentum { none, start, running };

template <class T>
struct Sgd {
  T lr, momentum, fresh, decay;
  Momentum kind;
  bool nesterov;
  T* p;
  T* buffer;

  template <bool with_decay, Momentum how, bool with_nesterov>
  void loop(i64 at, const T* SKEIN_RESTRICT g, i64 n) const {
    T* SKEIN_RESTRICT x = p + at;
    T* SKEIN_RESTRICT b = how == Momentum::none ? nullptr : buffer + at;
    const T rate = lr, keep = momentum, take = fresh, shrink = decay;
#pragma omp simd
    for (i64 i = 0; i < n; ++i) {
      T d = with_decay ? g[i] + x[i] * shrink : g[i];
      if (how != Momentum::none) {
        const T mixed = how == Momentum::start ? d : b[i] * keep + d * take;
        b[i] = mixed;
        d = with_nesterov ? d + mixed * keep : mixed;
      }
      x[i] = x[i] - d * rate;
    }
  }
  template <bool with_decay>
  void pick(i64 at, const T* g, i64 n) const {
    if (kind == Momentum::none) loop<with_decay, Momentum::none, false>(at, g, n);
    else if (kind == Momentum::start && nesterov) loop<with_decay, Momentum::start, true>(at, g, n);
    else if (kind == Momentum::start) loop<with_decay, Momentum::start, false>(at, g, n);
    else if (nesterov) loop<with_decay, Momentum::running, true>(at, g, n);
    else loop<with_decay, Momentum::running, false>(at, g, n);
  }
  void span(i64 at, const T* g, i64 n) const { decay != T(0) ? pick<true>(at, g, n) : pick<false>(at, g, n); }
  void fetch(i64 at) const {
    __builtin_prefetch(p + at, 1);
    if (kind != Momentum::none) __builtin_prefetch(buffer + at, 1);
  }
};

template <class T>
struct Adagrad {
  T lr, eps, decay;
  T* p;
  T* sum;

  template <bool with_decay>
  void loop(i64 at, const T* SKEIN_RESTRICT g, i64 n) const {
    T* SKEIN_RESTRICT x = p + at;
    T* SKEIN_RESTRICT s = sum + at;
    const T rate = lr, floor = eps, shrink = decay;
#pragma omp simd
    for (i64 i = 0; i < n; ++i) {
      const T d = with_decay ? g[i] + x[i] * shrink : g[i];
      const T total = s[i] + d * d;
      s[i] = total;
      x[i] = x[i] - rate * d / (std::sqrt(total) + floor);
    }
  }
  void span(i64 at, const T* g, i64 n) const { decay != T(0) ? loop<true>(at, g, n) : loop<false>(at, g, n); }
  void fetch(i64 at) const {
    __builtin_prefetch(p + at, 1);
    __builtin_prefetch(sum + at, 1);
  }
};

// Adagrad with one sum per row. `at` is the first element of a row.
template <class T>
struct RowAdagrad {
  static constexpr i64 kSums = 16;  // independent sums of fixed positions: the same bits for every vector width
  T lr, eps, decay;
  T* p;
  T* sum;
  i64 width;

  T squares(const T* SKEIN_RESTRICT x, const T* SKEIN_RESTRICT g) const {
    const T shrink = decay;
    T part[kSums] = {};
    i64 i = 0;
    for (; i + kSums <= width; i += kSums) {
#pragma omp simd
      for (i64 k = 0; k < kSums; ++k) {
        const T d = g[i + k] + x[i + k] * shrink;
        part[k] += d * d;
      }
    }
    for (i64 k = 0; i + k < width; ++k) {
      const T d = g[i + k] + x[i + k] * shrink;
      part[k] += d * d;
    }
    T total = 0;
    for (const T value : part) total += value;
    return total;
  }
  void span(i64 at, const T* SKEIN_RESTRICT g, i64) const {
    T* SKEIN_RESTRICT x = p + at;
    T& row = sum[at / width];
    row += squares(x, g) / T(width);
    const T rate = lr / (std::sqrt(row) + eps), shrink = decay;
#pragma omp simd
    for (i64 i = 0; i < width; ++i) x[i] = x[i] - rate * (g[i] + x[i] * shrink);
  }
  void fetch(i64 at) const { __builtin_prefetch(p + at, 1); }
};

template <class T>
struct Adam {
  T beta1, rest1, beta2, rest2, step, root_c2, eps, decay;
  Decay kind;
  T* p;
  T* m;
  T* v;

  Adam(T* p_, T* m_, T* v_, double lr, double b1, double b2, double e, double wd, bool dec, double c1, double c2)
      : beta1(T(b1)), rest1(T(1 - b1)), beta2(T(b2)), rest2(T(1 - b2)), step(T(lr / c1)), root_c2(T(std::sqrt(c2))),
        eps(T(e)), decay(dec ? T(1 - lr * wd) : T(wd)),
        kind(wd == 0 ? Decay::none : dec ? Decay::parameter : Decay::gradient), p(p_), m(m_), v(v_) {}

  template <Decay how>
  void loop(i64 at, const T* SKEIN_RESTRICT g, i64 n) const {
    T* SKEIN_RESTRICT x = p + at;
    T* SKEIN_RESTRICT first = m + at;
    T* SKEIN_RESTRICT second = v + at;
    const Adam c = *this;
#pragma omp simd
    for (i64 i = 0; i < n; ++i) {
      const T old = how == Decay::parameter ? x[i] * c.decay : x[i];
      const T d = how == Decay::gradient ? g[i] + old * c.decay : g[i];
      const T a = first[i] * c.beta1 + d * c.rest1;
      const T b = second[i] * c.beta2 + c.rest2 * d * d;
      first[i] = a;
      second[i] = b;
      const T denominator = std::sqrt(b) / c.root_c2 + c.eps;
      x[i] = old - c.step * a / denominator;
    }
  }
  void span(i64 at, const T* g, i64 n) const {
    if (kind == Decay::parameter) loop<Decay::parameter>(at, g, n);
    else if (kind == Decay::gradient) loop<Decay::gradient>(at, g, n);
    else loop<Decay::none>(at, g, n);
  }
  void fetch(i64 at) const {
    __builtin_prefetch(p + at, 1);
    __builtin_prefetch(m + at, 1);
    __builtin_prefetch(v + at, 1);
  }
};

template <class T, class Rule>
void step_all(const Rule& rule, const T* g, i64 n) {
  parallel_for(n, kElementGrain, [&](i64 begin, i64 end) { rule.span(begin, g + begin, end - begin); });
}

template <class T, class Rule>
void step_rows(const Rule& rule, const i32* ids, const T* g, i64 n, i64 width) {
  if (width <= 0) return;
  const i64 grain = kRowsPerFork / width + 1;
  constexpr i64 stride = kLine / static_cast<i64>(sizeof(T));
  parallel_for(n, grain, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      if (i + kAheadRows < n)
        for (i64 j = 0; j < width; j += stride) rule.fetch(ids[i + kAheadRows] * width + j);
      rule.span(ids[i] * width, g + i * width, width);
    }
  });
}

}  // namespace

template <class T>
void sgd_step(T* p, const T* g, T* buffer, i64 n, double lr, double momentum, double dampening, double weight_decay,
              bool nesterov, bool first) {
  const Momentum kind = buffer == nullptr ? Momentum::none : first ? Momentum::start : Momentum::running;
  step_all(Sgd<T>{T(lr), T(momentum), T(1 - dampening), T(weight_decay), kind, nesterov, p, buffer}, g, n);
}

template <class T>
void adagrad_step(T* p, const T* g, T* sum, i64 n, double lr, double eps, double weight_decay) {
  step_all(Adagrad<T>{T(lr), T(eps), T(weight_decay), p, sum}, g, n);
}

template <class T>
void adam_step(T* p, const T* g, T* m, T* v, i64 n, double lr, double beta1, double beta2, double eps,
               double weight_decay, bool decoupled, double c1, double c2) {
  step_all(Adam<T>(p, m, v, lr, beta1, beta2, eps, weight_decay, decoupled, c1, c2), g, n);
}

template <class T>
void sgd_step_rows(T* p, const i32* ids, const T* g, T* buffer, i64 n, i64 width, double lr, double momentum,
                   double weight_decay) {
  const Momentum kind = buffer == nullptr ? Momentum::none : Momentum::running;
  step_rows(Sgd<T>{T(lr), T(momentum), T(1), T(weight_decay), kind, false, p, buffer}, ids, g, n, width);
}

template <class T>
void adagrad_step_rows(T* p, const i32* ids, const T* g, T* sum, i64 n, i64 width, double lr, double eps,
                       double weight_decay) {
  step_rows(Adagrad<T>{T(lr), T(eps), T(weight_decay), p, sum}, ids, g, n, width);
}

template <class T>
void row_adagrad_step_rows(T* p, const i32* ids, const T* g, T* sum, i64 n, i64 width, double lr, double eps,
                           double weight_decay) {
  step_rows(RowAdagrad<T>{T(lr), T(eps), T(weight_decay), p, sum, width}, ids, g, n, width);
}

template <class T>
void adam_step_rows(T* p, const i32* ids, const T* g, T* m, T* v, i64 n, i64 width, double lr, double beta1,
                    double beta2, double eps, double weight_decay, bool decoupled, double c1, double c2) {
  step_rows(Adam<T>(p, m, v, lr, beta1, beta2, eps, weight_decay, decoupled, c1, c2), ids, g, n, width);
}

#define SKEIN_INSTANTIATE(T)                                                                                        \
  template void sgd_step<T>(T*, const T*, T*, i64, double, double, double, double, bool, bool);                     \
  template void adagrad_step<T>(T*, const T*, T*, i64, double, double, double);                                     \
  template void adam_step<T>(T*, const T*, T*, T*, i64, double, double, double, double, double, bool, double,       \
                             double);                                                                               \
  template void sgd_step_rows<T>(T*, const i32*, const T*, T*, i64, i64, double, double, double);                   \
  template void adagrad_step_rows<T>(T*, const i32*, const T*, T*, i64, i64, double, double, double);               \
  template void row_adagrad_step_rows<T>(T*, const i32*, const T*, T*, i64, i64, double, double, double);           \
  template void adam_step_rows<T>(T*, const i32*, const T*, T*, T*, i64, i64, double, double, double, double,       \
                                  double, bool, double, double);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
