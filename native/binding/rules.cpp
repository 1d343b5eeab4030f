#include "rules.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "support/op_codes.h"

namespace skein {
namespace {

class Parser {
 public:
  explicit Parser(const KernelRow& kernel) : kernel_(kernel), at_(kernel.rule) {}

  Rule run() {
    read_names();
    at_ = kernel_.rule;
    for (size_t i = 0; i < kernel_.count; ++i) read_word(i);
    for (Check& check : rule_.checks) check.copied = is_copied(check);
    std::stable_sort(rule_.checks.begin(), rule_.checks.end(),
                     [this](const Check& a, const Check& b) { return turn(a) < turn(b); });
    return std::move(rule_);
  }

 private:
  const KernelRow& kernel_;
  const char* at_;
  Rule rule_;

  [[noreturn]] void wrong(const std::string& what) const {
    throw std::logic_error(std::string("the rule of kernel ") + kernel_.name + ": " + what + " before \"" + at_ + "\"");
  }

  bool is_copied(const Check& check) const {
    const Parameter parameter = kernel_.parameters[check.at];
    if (parameter.kind == Kind::offsets) return check.contents == Contents::boundaries;
    if (!parameter.input || (parameter.kind != Kind::i32 && parameter.kind != Kind::u32)) return false;
    // for_rows compares a chunk and then works on it; what compares each value as it reads it needs no copy.
    return check.contents != Contents::self_checked || rule_.has_offsets;
  }

  int turn(const Check& check) const {
    if (check.contents == Contents::walk) return 0;
    if (!is_array(kernel_.parameters[check.at].kind)) return 1;
    return check.contents == Contents::boundaries ? 2 : 3;
  }

  bool take(char c) {
    if (*at_ != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!take(c)) wrong(std::string("expected ") + c);
  }

  std::string name() {
    const char* from = at_;
    while (std::isalnum(static_cast<unsigned char>(*at_))) ++at_;
    if (at_ == from) wrong("expected a name");
    return std::string(from, at_);
  }

  // First the names alone, since a term may refer to a later one.
  void read_names() {
    while (*at_ != '\0') {
      rule_.names.push_back(name());
      while (*at_ != '\0' && *at_ != ' ') ++at_;
      while (*at_ == ' ') ++at_;
    }
    if (rule_.names.size() != kernel_.count) wrong("expected a word for each parameter");
  }

  u8 find(const std::string& word) const {
    const auto found = std::find(rule_.names.begin(), rule_.names.end(), word);
    if (found == rule_.names.end()) wrong("no parameter is called " + word);
    return static_cast<u8>(found - rule_.names.begin());
  }

  void read_word(size_t index) {
    const Kind kind = kernel_.parameters[index].kind;
    Check check;
    check.at = static_cast<u8>(index);
    name();
    if (take('?')) {
      check.nullable = true;
      if (*at_ == '(') check.required = expression();
    }
    if (take('[')) {
      check.need = expression();
      expect(']');
    }
    if (take('~')) check.any_integer = true;
    if (take('<')) check.limit = expression();
    if (take('>')) {
      expect('=');
      check.low = expression();
    }
    if (take('=')) check.equal = expression();
    if (check.limit.count > 0 || check.low.count > 0 || check.equal.count > 0) check.contents = Contents::ids;
    if (take('^')) check.contents = Contents::boundaries;
    if (take('@')) check.contents = Contents::walk;
    if (take('!')) check.contents = Contents::self_checked;
    if (*at_ != ' ' && *at_ != '\0') wrong("expected the end of a word");
    while (*at_ == ' ') ++at_;
    if (kind == Kind::offsets && check.contents == Contents::boundaries) rule_.has_offsets = true;
    if (is_array(kind) && check.need.count == 0 && check.contents != Contents::walk)
      wrong("expected [a length] for " + rule_.names[index]);
    if (is_array(kind) || kind == Kind::integer) rule_.checks.push_back(check);
  }

  // A value that exists only where the term of that parameter ends with `mark`.
  void refer(const std::string& word, Op op, char mark) {
    if (!has_mark(word, mark)) wrong(word + " is referred to and is not marked with " + mark);
    put(op, find(word));
  }

  bool has_mark(const std::string& word, char mark) const {
    for (const char* at = kernel_.rule; *at != '\0';) {
      const char* end = at + std::strcspn(at, " ");
      const char* after = at + word.size();
      if (after < end && std::equal(word.begin(), word.end(), at) && !std::isalnum(static_cast<unsigned char>(*after)))
        return end[-1] == mark;
      at = end + std::strspn(end, " ");
    }
    return false;
  }

  void put(Op op, u8 at = 0, i64 value = 0, u8 other = 0) { rule_.code.push_back({op, at, other, value}); }

  Expression expression() {
    const size_t first = rule_.code.size();
    sum();
    const size_t count = rule_.code.size() - first;
    return {static_cast<u16>(first), static_cast<u16>(count), shape_of(rule_.code.data() + first, count)};
  }

  static Shape shape_of(const Step* code, size_t count) {
    if (count == 1 && is_operand(code[0].op)) return Shape::one;
    const bool two = count == 3 && is_operand(code[0].op) && is_operand(code[1].op);
    return two && (code[2].op == Op::multiply || code[2].op == Op::add) ? Shape::two : Shape::any;
  }

  void sum() {
    product();
    for (;;) {
      if (take('+')) product(), put(Op::add);
      else if (take('-')) product(), put(Op::subtract);
      else return;
    }
  }

  void product() {
    factor();
    for (;;) {
      if (take('*')) factor(), put(Op::multiply);
      else if (take('/')) factor(), put(Op::divide);
      else return;
    }
  }

  void factor() {
    if (take('(')) {
      sum();
      expect(')');
    } else if (take('$')) {
      refer(name(), Op::last, '^');
    } else if (take('-')) {
      put(Op::constant, 0, -number());
    } else if (std::isdigit(static_cast<unsigned char>(*at_))) {
      put(Op::constant, 0, number());
    } else {
      named(name());
    }
  }

  i64 number() {
    char* end = nullptr;
    const i64 value = std::strtoll(at_, &end, 10);
    at_ = end;
    return value;
  }

  void named(const std::string& word) {
    if (*at_ != '(') {
      const u8 at = find(word);
      const Kind kind = kernel_.parameters[at].kind;
      if (!is_array(kind) && kind != Kind::integer) wrong(word + " is neither a whole number nor an array");
      put(is_array(kind) ? Op::length : Op::value, at);
      return;
    }
    expect('(');
    if (word == "min" || word == "max") {
      sum();
      expect(',');
      sum();
      put(word == "min" ? Op::min : Op::max);
    } else if (word == "walk") {
      refer(name(), Op::walk, '@');
      const size_t step = rule_.code.size() - 1;
      expect(',');
      rule_.code[step].value = number();
      expect(',');
      rule_.code[step].other = find(name());
    } else if (word == "none" || word == "any") {
      put(word == "none" ? Op::none : Op::any, find(name()));
    } else if (word == "bytes" || word == "element") {
      put(word == "bytes" ? Op::bytes : Op::element, find(name()));
    } else if (word == "count") {
      put(Op::constant, 0, count_of(name()));
    } else {
      wrong("no function is called " + word);
    }
    expect(')');
  }

  template <size_t Count>
  static constexpr i64 size_of(const char* const (&)[Count]) { return static_cast<i64>(Count); }

  i64 count_of(const std::string& list) const {
    if (list == "unary") return size_of(kUnaryOpNames);
    if (list == "binary") return size_of(kBinaryOpNames);
    if (list == "compare") return size_of(kCompareOpNames);
    if (list == "reduce") return size_of(kReduceOpNames);
    if (list == "score") return size_of(kScoreOpNames);
    if (list == "relation") return size_of(kRelationOpNames);
    if (list == "query") return size_of(kQueryKindNames);
    if (list == "storage") return size_of(kStorageTypeNames);
    wrong("no list of codes is called " + list);
  }
};

inline i64 storage_bytes(i64 type) {
  switch (static_cast<StorageType>(type)) {
    case StorageType::u8: return 1;
    case StorageType::f16:
    case StorageType::bf16: return 2;
    case StorageType::f64: return 8;
    default: return 4;
  }
}

inline i64 quotient(i64 a, i64 b) { return b <= 0 || a == kBeyond ? kBeyond : a / b; }

}  // namespace

Rule parse_rule(const KernelRow& kernel) { return Parser(kernel).run(); }

i64 evaluate_steps(const Rule& rule, Expression expression, const Facts& facts) {
  i64 stack[16];
  i64* top = stack - 1;
  const Step* step = rule.code.data() + expression.first;
  for (const Step* end = step + expression.count; step < end; ++step) {
    const Slot& slot = facts.arguments.slots[step->at];
    switch (step->op) {
      case Op::constant:
      case Op::value:
      case Op::length:
      case Op::last:
      case Op::walk: *++top = operand(*step, facts); break;
      case Op::none: *++top = slot.length < 0 ? 1 : 0; break;
      case Op::any: *++top = slot.length < 0 ? kBeyond : 0; break;
      case Op::add: --top, *top = plus(top[0], top[1]); break;
      case Op::subtract: --top, *top = top[0] == kBeyond ? kBeyond : top[0] - top[1]; break;
      case Op::multiply: --top, *top = times(top[0], top[1]); break;
      case Op::divide: --top, *top = quotient(top[0], top[1]); break;
      case Op::min: --top, *top = std::min(top[0], top[1]); break;
      case Op::max: --top, *top = std::max(top[0], top[1]); break;
      case Op::bytes: *++top = storage_bytes(slot.integer); break;
      case Op::element: *++top = slot.integer == 1 || slot.integer == 2 || slot.integer == 4 ? slot.integer : 8; break;
    }
  }
  return *top;
}

}  // namespace skein
