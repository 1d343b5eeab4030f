#include "call.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>

#include "jobs.h"
#include "reduce/reduce.h"

namespace skein {

namespace {

const char* array_name(Kind kind) {
  switch (kind) {
    case Kind::f32: return "a Float32Array";
    case Kind::f64: return "a Float64Array";
    case Kind::i32: return "an Int32Array";
    case Kind::u8: return "a Uint8Array";
    case Kind::u16: return "a Uint16Array";
    case Kind::u32: return "a Uint32Array";
    case Kind::offsets: return "an Int32Array or a Float64Array";
    default: return "a typed array";
  }
}

constexpr int kNoType = -1;

// By Kind.
constexpr int kTypes[] = {kNoType,         napi_float32_array, napi_float64_array, napi_int32_array, napi_uint8_array,
                          napi_uint16_array, napi_uint32_array,  kNoType};

inline int type_of(Kind kind) { return kTypes[static_cast<size_t>(kind)]; }

i64 bytes_of(int type) {
  switch (type) {
    case napi_int8_array:
    case napi_uint8_array:
    case napi_uint8_clamped_array: return 1;
    case napi_int16_array:
    case napi_uint16_array: return 2;
    case napi_float64_array:
    case napi_bigint64_array:
    case napi_biguint64_array: return 8;
    default: return 4;
  }
}

std::string text_of(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

}  // namespace

const std::vector<Kernel>& all_kernels() {
  static const std::vector<Kernel> kernels = [] {
    std::vector<Kernel> list;
    list.reserve(kKernelCount);
    for (size_t i = 0; i < kKernelCount; ++i) list.push_back({&kKernelRows[i], parse_rule(kKernelRows[i])});
    return list;
  }();
  return kernels;
}

void throw_failure(napi_env env, const char* kernel, const char* what) {
  const std::string text = std::string("kernel ") + kernel + " failed: " + what;
  napi_throw_error(env, "SKEIN_KERNEL", text.c_str());
}

Call::Call(napi_env e, napi_callback_info info) : env(e) {
  void* data = nullptr;
  napi_get_cb_info(env, info, &count, values, nullptr, &data);
  kernel = static_cast<const Kernel*>(data);
  run = kernel->row->run;
}

bool Call::fail(size_t at, const std::string& expected, const std::string& got, const char* advice) {
  const std::string text = std::string("kernel ") + kernel->row->name + ": expected " + expected + " for " +
                           kernel->rule.names[at] + ", got " + got + "." + advice;
  napi_throw_range_error(env, "SKEIN_KERNEL_ARGUMENT", text.c_str());
  return false;
}

bool Call::wrong_kind(size_t at, const char* expected) {
  const std::string text = std::string("internal: kernel ") + kernel->row->name + ": expected " + expected + " for " +
                           kernel->rule.names[at] + " (argument " + std::to_string(at + 1) + "). Please report this.";
  napi_throw_type_error(env, "SKEIN_INTERNAL", text.c_str());
  return false;
}

// The first float array decides between the f32 and the f64 instance; all others must be of its type.
bool Call::read_array(size_t at, Kind kind) {
  Slot& slot = arguments.slots[at];
  int type = kNoType;
  size_t length = 0;
  void* data = nullptr;
  // Not every kind of typed array has a code here: then `given` stays as it is.
  napi_typedarray_type given = static_cast<napi_typedarray_type>(kNoType);
  if (napi_get_typedarray_info(env, values[at], &given, &length, &data, nullptr, nullptr) != napi_ok) {
    napi_valuetype is = napi_undefined;
    napi_typeof(env, values[at], &is);
    if (is != napi_null) return wrong_kind(at, (std::string(array_name(kind)) + " or null").c_str());
    slot.data = nullptr;
    slot.length = -1;
    return true;
  }
  type = static_cast<int>(given);
  slot.data = data;
  slot.length = static_cast<i64>(length);
  if (type == type_of(kind) && run == kernel->row->run) return true;
  if (kind == Kind::bytes) {
    if (type == kNoType) return wrong_kind(at, "a typed array of numbers");
    slot.length *= bytes_of(type);
    return true;
  }
  if (kind == Kind::offsets) {
    if (type != napi_int32_array && type != napi_float64_array) return wrong_kind(at, array_name(kind));
    arguments.offsets.data = data;
    arguments.offsets.wide = type == napi_float64_array;
    return true;
  }
  const KernelRow& row = *kernel->row;
  if (kind == Kind::f32 && row.run_f64 != nullptr) {
    if (type == napi_float64_array && run != row.run_f64) {
      for (size_t before = 0; before < at; ++before) {
        if (row.parameters[before].kind == Kind::f32 && arguments.slots[before].length >= 0)
          return wrong_kind(at, "a Float32Array");
      }
      run = row.run_f64;
    }
    if (run == row.run_f64) kind = Kind::f64;
  }
  return type == type_of(kind) || wrong_kind(at, array_name(kind));
}

bool Call::read_number(size_t at, Kind kind) {
  Slot& slot = arguments.slots[at];
  slot.length = 0;
  if (kind == Kind::flag) {
    return napi_get_value_bool(env, values[at], &slot.flag) == napi_ok || wrong_kind(at, "a boolean");
  }
  double number = 0;
  if (napi_get_value_double(env, values[at], &number) != napi_ok) return wrong_kind(at, "a number");
  if (kind == Kind::number) {
    slot.number = number;
    return true;
  }
  // False for NaN, too.
  const bool fits = std::fabs(number) <= static_cast<double>(kMostInteger);
  slot.integer = fits ? static_cast<i64>(number) : 0;
  return (fits && static_cast<double>(slot.integer) == number) || fail(at, "a whole number", text_of(number));
}

bool Call::read(Copies* copies) {
  const KernelRow& row = *kernel->row;
  if (count != row.count) {
    const std::string text = std::string("internal: kernel ") + row.name + ": expected " + std::to_string(row.count) +
                             " arguments, got " + std::to_string(count) + ". Please report this.";
    napi_throw_type_error(env, "SKEIN_INTERNAL", text.c_str());
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    const Kind kind = row.parameters[i].kind;
    if (!(is_array(kind) ? read_array(i, kind) : read_number(i, kind))) return false;
  }
  Facts facts(arguments);
  for (const Check& one : kernel->rule.checks) {
    // The common cases: a size, or an array that is long enough.
    const Slot& slot = arguments.slots[one.at];
    if (one.contents == Contents::any && copies == nullptr) {
      if (one.need.count == 0) {
        if (slot.integer >= 0) continue;
      } else if (slot.length < 0) {
        if (one.nullable && one.required.count == 0) continue;
      } else if (slot.length >= evaluate(kernel->rule, one.need, facts)) {
        continue;
      }
    }
    if (!check(one, facts, copies)) return false;
  }
  return true;
}

bool Call::check(const Check& rule, Facts& facts, Copies* copies) {
  const Parameter parameter = kernel->row->parameters[rule.at];
  if (!is_array(parameter.kind)) return check_integer(rule, facts);
  Slot& slot = arguments.slots[rule.at];
  if (slot.length < 0) {
    facts.last[rule.at] = 0;
    if (rule.nullable && (rule.required.count == 0 || evaluate(kernel->rule, rule.required, facts) == 0)) return true;
    return wrong_kind(rule.at, (std::string(array_name(parameter.kind)) + ", not null,").c_str());
  }
  // A walk contains its own length.
  i64 need = rule.contents == Contents::walk ? 1 : evaluate(kernel->rule, rule.need, facts);
  if (rule.contents == Contents::walk && slot.length > 0) {
    const i64 rank = static_cast<const i32*>(slot.data)[0];
    need = rank < 0 ? kBeyond : 1 + 3 * rank;
  }
  if (slot.length < need) {
    const char* what = parameter.kind == Kind::bytes ? " bytes" : " elements";
    const std::string expected = need == kBeyond ? "more than an array can have" : "at least " + std::to_string(need);
    return fail(rule.at, expected + what, std::to_string(slot.length),
                " It is too short for the sizes given, or its memory was transferred or shrunk.");
  }
  if (copies != nullptr && rule.copied && need > 0) {
    const size_t bytes = static_cast<size_t>(need) * (parameter.kind == Kind::offsets && arguments.offsets.wide ? 8 : 4);
    copies->emplace_back(new u8[bytes]);
    std::memcpy(copies->back().get(), slot.data, bytes);
    slot.data = copies->back().get();
    if (parameter.kind == Kind::offsets) arguments.offsets.data = slot.data;
  }
  switch (rule.contents) {
    case Contents::any: return true;
    case Contents::ids: return check_ids(rule, facts, need);
    case Contents::boundaries: return check_boundaries(rule, facts, need);
    case Contents::walk: return check_walk(rule, facts);
    case Contents::self_checked: break;
  }
  if (kernel->rule.has_offsets && rule.limit.count > 0) {
    const i64 limit = evaluate(kernel->rule, rule.limit, facts);
    arguments.offsets.follow(static_cast<const i32*>(slot.data), limit, kernel->rule.names[rule.at].c_str());
  }
  return true;
}

bool Call::check_integer(const Check& rule, const Facts& facts) {
  const i64 value = arguments.slots[rule.at].integer;
  if (rule.any_integer) return true;
  const i64 low = rule.low.count > 0 ? evaluate(kernel->rule, rule.low, facts) : 0;
  const i64 limit = rule.limit.count > 0 ? evaluate(kernel->rule, rule.limit, facts) : kBeyond;
  if (value < low || value >= limit) {
    const std::string upper = limit == kBeyond ? "" : " and below " + std::to_string(limit);
    return fail(rule.at, "a whole number of at least " + std::to_string(low) + upper, std::to_string(value));
  }
  if (rule.equal.count == 0) return true;
  const i64 one = evaluate(kernel->rule, rule.equal, facts);
  return value == one || fail(rule.at, std::to_string(one), std::to_string(value));
}

bool Call::check_ids(const Check& rule, const Facts& facts, i64 need) {
  const i32* ids = static_cast<const i32*>(arguments.slots[rule.at].data);
  const i64 low = rule.low.count > 0 ? evaluate(kernel->rule, rule.low, facts) : 0;
  const i64 limit = rule.limit.count > 0 ? evaluate(kernel->rule, rule.limit, facts) : kBeyond;
  const i64 wrong = find_out_of_range(ids, need, low, limit);
  if (wrong < 0) return true;
  const std::string upper = limit == kBeyond ? "" : " and below " + std::to_string(limit);
  return fail(rule.at, "elements of at least " + std::to_string(low) + upper,
              std::to_string(ids[wrong]) + " at position " + std::to_string(wrong));
}

bool Call::check_boundaries(const Check& rule, Facts& facts, i64 need) {
  const Slot& slot = arguments.slots[rule.at];
  const bool sparse = kernel->row->parameters[rule.at].kind == Kind::offsets;
  Offsets offsets = sparse ? arguments.offsets : Offsets{slot.data, false};
  const i64 first = offsets[0], last = offsets[need - 1];
  facts.last[rule.at] = last;
  // for_rows checks those in between while it processes the rows.
  arguments.offsets.entries = last;
  const i64 falls = sparse ? -1 : find_fall(static_cast<const i32*>(slot.data), need);
  if (first >= 0 && last >= first && falls < 0) return true;
  const i64 at = first < 0 ? 0 : falls >= 0 ? falls : need - 1;
  return fail(rule.at, "boundaries that start at 0 or above and never fall",
              std::to_string(offsets[at]) + " at position " + std::to_string(at));
}

bool Call::check_walk(const Check& rule, Facts& facts) {
  const i32* dims = static_cast<const i32*>(arguments.slots[rule.at].data);
  const i32 rank = dims[0];
  i64 size = 1, extents[2] = {1, 1};
  for (i32 d = 0; d < rank; ++d) {
    const i64 length = dims[1 + d];
    const i64 strides[2] = {dims[1 + rank + d], dims[1 + 2 * rank + d]};
    if (length < 0 || strides[0] < 0 || strides[1] < 0)
      return fail(rule.at, "sizes and strides of at least 0", "less in dimension " + std::to_string(d));
    if (__builtin_mul_overflow(size, length, &size)) size = kBeyond;
    for (int k = 0; k < 2 && length > 0; ++k) {
      if (__builtin_add_overflow(extents[k], (length - 1) * strides[k], &extents[k])) extents[k] = kBeyond;
    }
  }
  facts.extents[0] = size;
  facts.extents[1] = size == 0 ? 0 : extents[0];
  facts.extents[2] = size == 0 ? 0 : extents[1];
  return true;
}

napi_value call_now(napi_env env, napi_callback_info info) {
  Call call(env, info);
  if (!call.read(nullptr)) return nullptr;
  napi_value value = nullptr;
  try {
    const double result = call.run(call.arguments);
    if (call.kernel->row->has_result) napi_create_double(env, result, &value);
  } catch (const std::exception& error) {
    throw_failure(env, call.kernel->row->name, error.what());
  }
  return value;
}

napi_value call_later(napi_env env, napi_callback_info info) {
  Call call(env, info);
  try {
    auto job = std::make_unique<Job>();
    if (!call.read(&job->copies)) return nullptr;
    return start_job(call, std::move(job));
  } catch (const std::exception& error) {  // no memory for copies
    throw_failure(env, call.kernel->row->name, error.what());
    return nullptr;
  }
}

}  // namespace skein
