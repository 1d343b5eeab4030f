// Codes of the operations that kernels take as a number: the positions in the lists of src/native/op-codes.ts.
//
// Each list is written once here; the enum and the table of names come from it, and the loader compares the names
// with those in TypeScript, so that the two sides cannot drift apart unnoticed.
#pragma once

#include "support/common.h"

#define SKEIN_UNARY_OPS(X)                                                                                     \
  X(neg) X(abs) X(sign) X(square) X(sqrt) X(reciprocal) X(exp) X(log) X(sin) X(cos) X(tanh) X(sigmoid) X(relu) \
  X(leakyRelu) X(elu) X(gelu) X(softplus) X(logSigmoid)
#define SKEIN_BINARY_OPS(X) X(add) X(sub) X(mul) X(div) X(pow) X(maximum) X(minimum)
#define SKEIN_COMPARE_OPS(X) X(eq) X(ne) X(lt) X(le) X(gt) X(ge)
#define SKEIN_REDUCE_OPS(X) X(sum) X(mean) X(max) X(min)
#define SKEIN_SCORE_OPS(X) X(dot) X(l2) X(l1) X(squaredL2) X(modulus) X(biasedSquaredL2)
#define SKEIN_RELATION_OPS(X) X(none) X(hadamard) X(complex) X(conjugate)
#define SKEIN_QUERY_KINDS(X) X(softmax) X(masked_softmax) X(bce) X(squares)
#define SKEIN_STORAGE_TYPES(X) X(f32) X(f64) X(i32) X(u8) X(f16) X(bf16)

namespace skein {

#define SKEIN_ENUMERATOR(name) name,
enum class UnaryOp : i64 { SKEIN_UNARY_OPS(SKEIN_ENUMERATOR) };
enum class BinaryOp : i64 { SKEIN_BINARY_OPS(SKEIN_ENUMERATOR) };
enum class CompareOp : i64 { SKEIN_COMPARE_OPS(SKEIN_ENUMERATOR) };
enum class ReduceOp : i64 { SKEIN_REDUCE_OPS(SKEIN_ENUMERATOR) };
enum class ScoreOp : i64 { SKEIN_SCORE_OPS(SKEIN_ENUMERATOR) };
enum class RelationOp : i64 { SKEIN_RELATION_OPS(SKEIN_ENUMERATOR) };
enum class QueryKind : i64 { SKEIN_QUERY_KINDS(SKEIN_ENUMERATOR) };
enum class StorageType : i64 { SKEIN_STORAGE_TYPES(SKEIN_ENUMERATOR) };
#undef SKEIN_ENUMERATOR

#define SKEIN_NAME(name) #name,
constexpr const char* kUnaryOpNames[] = {SKEIN_UNARY_OPS(SKEIN_NAME)};
constexpr const char* kBinaryOpNames[] = {SKEIN_BINARY_OPS(SKEIN_NAME)};
constexpr const char* kCompareOpNames[] = {SKEIN_COMPARE_OPS(SKEIN_NAME)};
constexpr const char* kReduceOpNames[] = {SKEIN_REDUCE_OPS(SKEIN_NAME)};
constexpr const char* kScoreOpNames[] = {SKEIN_SCORE_OPS(SKEIN_NAME)};
constexpr const char* kRelationOpNames[] = {SKEIN_RELATION_OPS(SKEIN_NAME)};
constexpr const char* kQueryKindNames[] = {SKEIN_QUERY_KINDS(SKEIN_NAME)};
constexpr const char* kStorageTypeNames[] = {SKEIN_STORAGE_TYPES(SKEIN_NAME)};
#undef SKEIN_NAME

}  // namespace skein
