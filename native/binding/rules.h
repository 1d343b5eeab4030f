// What a kernel needs of its arguments, from the third column of kernels.def: one word for each parameter, in order.
//
//   m              a whole number from 0 on                  fanout>=-1 op<4   with other bounds         seed~   any
//   a[m*k]         an array of at least m·k elements (bytes, for arrays of any type); required for every array
//   bias?[n]       null is allowed; arg?(op/2): only where op/2 is 0
//   ids[n]<rows    every element is in [0, rows); >=-1 moves the lower bound
//   offsets[n+1]^  boundaries of n rows: not negative, never falling; $offsets is the last one
//   dims@          a walk (see Dims in kernels.ts); walk(dims,0,n) its elements, walk(dims,1,n) and walk(dims,2,n) the extents of
//                  the two arrays, and n where dims is null
//   indices[e]!    the kernel itself compares the values when it reads them: for structures too large to be looked through
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

enum class Op : u8 { constant, value, length, last, none, any, add, subtract, multiply, divide, min, max, bytes, element, walk };

struct Step {
  Op op;
  u8 at;      // parameter, or part of a walk in the upper bits
  i64 value;  // of a constant; part of a walk
};

// A range of Rule::code; empty: not given.
struct Expression {
  u16 first = 0, count = 0;
};

enum class Contents : u8 { any, ids, boundaries, walk, self_checked };

// What one parameter must satisfy.
struct Check {
  u8 at = 0;
  bool nullable = false;
  bool any_integer = false;
  bool copied = false;  // by asynchronous calls: a kernel follows its values, and JavaScript may change them meanwhile
  Contents contents = Contents::any;
  Expression required;  // where nullable: null is refused unless this is 0
  Expression need, low, limit;
};

struct Rule {
  std::vector<std::string> names;
  std::vector<Step> code;
  std::vector<Check> checks;  // in an order in which each can be evaluated: walks, numbers, boundaries, the rest
  bool has_offsets = false;
};

// What expressions are evaluated over.
struct Facts {
  const Arguments& arguments;
  i64 last[kMaxArguments];  // of boundaries
  i64 extents[3];           // of the walk
  explicit Facts(const Arguments& all) : arguments(all) {}
};

// Throws std::logic_error when the text does not fit the kernel: found when the addon is loaded, not when it is used.
Rule parse_rule(const KernelRow& kernel);

i64 evaluate_steps(const Rule& rule, Expression expression, const Facts& facts);

inline i64 evaluate(const Rule& rule, Expression expression, const Facts& facts) {
  const Step& first = rule.code[expression.first];
  if (expression.count == 1 && first.op == Op::value) return facts.arguments.slots[first.at].integer;
  if (expression.count == 1 && first.op == Op::constant) return first.value;
  return evaluate_steps(rule, expression, facts);
}

}  // namespace skein
