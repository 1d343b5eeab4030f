// Reading JavaScript's arguments and making its values. Only addresses of typed arrays are taken: see addon.cpp.
#pragma once

#include <node_api.h>

#include <string>
#include <vector>

#include "engine.h"

namespace skein_mpi {

struct Arguments {
  napi_env env;
  size_t count = 8;
  napi_value values[8];

  Arguments(napi_env e, napi_callback_info info) : env(e) { napi_get_cb_info(env, info, &count, values, nullptr, nullptr); }

  double number(size_t at) const {
    double value = 0;
    napi_get_value_double(env, values[at], &value);
    return value;
  }
  int integer(size_t at) const { return static_cast<int>(number(at)); }
  i64 whole(size_t at) const { return static_cast<i64>(number(at)); }
  std::string text(size_t at) const {
    size_t length = 0;
    napi_get_value_string_utf8(env, values[at], nullptr, 0, &length);
    std::string value(length + 1, '\0');
    napi_get_value_string_utf8(env, values[at], value.data(), value.size(), &length);
    value.resize(length);
    return value;
  }
};

inline i64 width_of(napi_typedarray_type type) {
  switch (type) {
    case napi_float64_array:
    case napi_bigint64_array:
    case napi_biguint64_array: return 8;
    case napi_float32_array:
    case napi_int32_array:
    case napi_uint32_array: return 4;
    case napi_int16_array:
    case napi_uint16_array: return 2;
    default: return 1;
  }
}

inline Piece piece_of(napi_env env, napi_value value, Type* element = nullptr) {
  napi_typedarray_type type = napi_uint8_array;
  size_t length = 0;
  void* data = nullptr;
  if (napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr) != napi_ok) return {};
  if (element != nullptr)
    *element = type == napi_float32_array ? Type::F32 : type == napi_float64_array ? Type::F64 : type == napi_int32_array ? Type::I32 : Type::Byte;
  return {static_cast<u8*>(data), static_cast<i64>(length) * width_of(type)};
}

inline std::vector<Piece> pieces_of(napi_env env, napi_value list) {
  u32 length = 0;
  napi_get_array_length(env, list, &length);
  std::vector<Piece> pieces(length);
  for (u32 i = 0; i < length; ++i) {
    napi_value item;
    napi_get_element(env, list, i, &item);
    pieces[i] = piece_of(env, item);
  }
  return pieces;
}

inline napi_value to_number(napi_env env, double number) {
  napi_value value = nullptr;
  napi_create_double(env, number, &value);
  return value;
}

inline napi_value to_text(napi_env env, const std::string& text) {
  napi_value value = nullptr;
  napi_create_string_utf8(env, text.data(), text.size(), &value);
  return value;
}

}  // namespace skein_mpi
