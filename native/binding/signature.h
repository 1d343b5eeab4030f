// A kernel as the binding sees it: what kind each parameter is, and one function that calls it with arguments read from
// slots. Only that function is made from the C++ signature; reading and checking is the same code for all kernels.
#pragma once

#include <type_traits>
#include <utility>

#include "support/list.h"
#include "sparse/offsets.h"

namespace skein {

constexpr size_t kMaxArguments = 32;

enum class Kind : u8 { bytes, f32, f64, i32, u8, u16, u32, offsets, integer, number, flag };

constexpr bool is_array(Kind kind) { return kind <= Kind::offsets; }

struct Parameter {
  Kind kind;
  bool input;  // an array that the kernel does not write
};

// An argument. Arrays: address and number of elements (bytes for arrays of any type), −1 for null.
struct Slot {
  union {
    void* data;
    i64 integer;
    double number;
    bool flag;
  };
  i64 length;
};

struct Arguments {
  Slot slots[kMaxArguments];
  Offsets offsets;  // of the one parameter of that kind
};

using Run = double (*)(const Arguments&);

template <class P>
constexpr Parameter parameter() {
  if constexpr (std::is_pointer_v<P>) {
    using Element = std::remove_pointer_t<P>;
    using E = std::remove_cv_t<Element>;
    constexpr bool input = std::is_const_v<Element>;
    if constexpr (std::is_void_v<E>) return {Kind::bytes, input};
    else if constexpr (std::is_same_v<E, float>) return {Kind::f32, input};
    else if constexpr (std::is_same_v<E, double>) return {Kind::f64, input};
    else if constexpr (std::is_same_v<E, i32>) return {Kind::i32, input};
    else if constexpr (std::is_same_v<E, u8>) return {Kind::u8, input};
    else if constexpr (std::is_same_v<E, u16>) return {Kind::u16, input};
    else return {Kind::u32, input};
  } else if constexpr (std::is_same_v<P, Offsets>) {
    return {Kind::offsets, true};
  } else if constexpr (std::is_same_v<P, bool>) {
    return {Kind::flag, false};
  } else if constexpr (std::is_same_v<P, double>) {
    return {Kind::number, false};
  } else if constexpr (std::is_same_v<P, i64>) {
    return {Kind::integer, false};
  } else {
    return parameter<decltype(P::data)>();  // a List
  }
}

template <class P>
inline P argument(const Arguments& all, size_t at) {
  const Slot& slot = all.slots[at];
  if constexpr (std::is_pointer_v<P>) return static_cast<P>(slot.data);
  else if constexpr (std::is_same_v<P, Offsets>) return all.offsets;
  else if constexpr (std::is_same_v<P, bool>) return slot.flag;
  else if constexpr (std::is_same_v<P, double>) return slot.number;
  else if constexpr (std::is_same_v<P, i64>) return slot.integer;
  else return P{static_cast<decltype(P::data)>(slot.data), slot.length < 0 ? 0 : slot.length};
}

template <class R, class... P, size_t... I>
inline double call_with(R (*kernel)(P...), const Arguments& all, std::index_sequence<I...>) {
  if constexpr (std::is_void_v<R>) return kernel(argument<P>(all, I)...), 0;
  else return static_cast<double>(kernel(argument<P>(all, I)...));
}

// The face of one instance of a kernel.
template <auto kernel, class F = decltype(kernel)>
struct Face;

template <auto kernel, class R, class... P>
struct Face<kernel, R (*)(P...)> {
  static_assert(sizeof...(P) <= kMaxArguments, "raise kMaxArguments");
  static constexpr size_t count = sizeof...(P);
  static constexpr bool has_result = !std::is_void_v<R>;
  static constexpr Parameter parameters[] = {parameter<P>()...};
  static double run(const Arguments& all) { return call_with(kernel, all, std::index_sequence_for<P...>{}); }
};

// The number of terms of a rule: one per parameter.
constexpr size_t count_words(const char* text) {
  size_t words = 0;
  for (bool inside = false; *text != '\0'; ++text) {
    if (!inside && *text != ' ') ++words;
    inside = *text != ' ';
  }
  return words;
}

struct KernelRow {
  const char* name;
  const char* rule;
  size_t count;
  bool has_result;
  const Parameter* parameters;  // those of the f32 instance where there are two
  Run run;
  Run run_f64;  // null: there is one instance only
};

extern const KernelRow kKernelRows[];
extern const size_t kKernelCount;

}  // namespace skein
