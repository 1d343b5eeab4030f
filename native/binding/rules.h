// Requirements on the arguments of a kernel, from the third column of kernels.def: one term per parameter, in order.
//
//   m              a whole number from 0 on     fanout>=-1 op<4   with other bounds     n=m   equal to m     seed~   any
//   a[m*k]         an array of at least m·k elements (bytes, for arrays of any type); required for every array
//   bias?[n]       null is allowed; arg?(op/2): only where op/2 is 0
//   ids[n]<rows    every element is in [0, rows); >=-1 moves the lower bound
//   offsets[n+1]^  boundaries of n rows: not negative, never falling; $offsets is the last one
//   dims@          a walk (see Dims in kernels.ts); walk(dims,0,n) its elements, walk(dims,1,n) and walk(dims,2,n) the extents of
//                  the two arrays; where dims is null, each of them is the value of n
//   indices[e]!    the kernel itself compares the values when it reads them: for structures too large to be scanned
//                  at every call. With an Offsets parameter for_rows does it, up to the bound that `<` gives.
//
// Expressions have + − * / and parentheses, min(a,b), max(a,b); a name is a number's value or an array's length (0 for null);
// none(x) is 1 for null, else 0; any(x) is beyond all numbers for null, else 0; bytes(type) the size of a storage type;
// element(b) the size of the elements that copyStrided moves. Division by 0 gives a number beyond all, which never wraps.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "signature.h"

namespace skein {

constexpr i64 kBeyond = std::numeric_limits<i64>::max();
constexpr i64 kMostInteger = i64{1} << 53;

enum class Op : u8 { constant, value, length, last, walk, none, any, add, subtract, multiply, divide, min, max, bytes, element };

struct Step {
  Op op;
  u8 at;      // parameter
  u8 other = 0;  // the parameter that replaces a null walk
  i64 value = 0;  // value of a constant; index into the extents of a walk
};

// A range of Rule::code; empty: not given. Most are one operand, or two with an operation behind them.
enum class Shape : u8 { one, two, any };
struct Expression {
  u16 first = 0, count = 0;
  Shape shape = Shape::any;
};

enum class Contents : u8 { any, ids, boundaries, walk, self_checked };

// Requirements on one parameter.
struct Check {
  u8 at = 0;
  bool nullable = false;
  bool any_integer = false;
  bool copied = false;  // by asynchronous calls: a kernel follows its values, and JavaScript may change them meanwhile
  Contents contents = Contents::any;
  Expression required;  // where nullable: null is rejected unless this is 0
  Expression need, low, limit, equal;
};

struct Rule {
  std::vector<std::string> names;
  std::vector<Step> code;
  std::vector<Check> checks;  // in an order in which each can be evaluated: walks, numbers, boundaries, the rest
  bool has_offsets = false;
};

// Values that expressions refer to.
struct Facts {
  const Arguments& arguments;
  i64 last[kMaxArguments];  // of boundaries; written before anything refers to it (parse_rule)
  i64 extents[3] = {};      // of the walk
  explicit Facts(const Arguments& all) : arguments(all) {}
};

// Throws std::logic_error when the text does not fit the kernel: found when the addon is loaded, not when it is used.
Rule parse_rule(const KernelRow& kernel);

i64 evaluate_steps(const Rule& rule, Expression expression, const Facts& facts);

constexpr bool is_operand(Op op) { return op <= Op::walk; }

inline i64 operand(const Step& step, const Facts& facts) {
  const Slot& slot = facts.arguments.slots[step.at];
  switch (step.op) {
    case Op::value: return slot.integer;
    case Op::length: return slot.length < 0 ? 0 : slot.length;
    case Op::last: return facts.last[step.at];
    case Op::walk: return slot.length < 0 ? facts.arguments.slots[step.other].integer : facts.extents[step.value];
    default: return step.value;
  }
}

// Sums and products that do not fit are beyond all numbers.
inline i64 plus(i64 a, i64 b) {
  i64 sum = 0;
  return a == kBeyond || b == kBeyond || __builtin_add_overflow(a, b, &sum) ? kBeyond : sum;
}

inline i64 times(i64 a, i64 b) {
  i64 product = 0;
  if (a == 0 || b == 0) return 0;
  return a == kBeyond || b == kBeyond || __builtin_mul_overflow(a, b, &product) ? kBeyond : product;
}

inline i64 evaluate(const Rule& rule, Expression expression, const Facts& facts) {
  const Step* code = rule.code.data() + expression.first;
  if (expression.shape == Shape::one) return operand(code[0], facts);
  if (expression.shape == Shape::any) return evaluate_steps(rule, expression, facts);
  const i64 a = operand(code[0], facts), b = operand(code[1], facts);
  return code[2].op == Op::multiply ? times(a, b) : plus(a, b);
}

}  // namespace skein
