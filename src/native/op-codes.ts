/**
 * Operations that kernels take as a number: the position in these lists. `native/kernels/support/op_codes.h` repeats them, and
 * the loader compares the two.
 */

export const unaryOps = [
  'neg',
  'abs',
  'sign',
  'square',
  'sqrt',
  'reciprocal',
  'exp',
  'log',
  'sin',
  'cos',
  'tanh',
  'sigmoid',
  'relu',
  'leakyRelu',
  'elu',
  'gelu',
  'softplus',
  'logSigmoid',
] as const;
export type UnaryOp = (typeof unaryOps)[number];

export const binaryOps = ['add', 'sub', 'mul', 'div', 'pow', 'maximum', 'minimum'] as const;
export type BinaryOp = (typeof binaryOps)[number];

export const compareOps = ['eq', 'ne', 'lt', 'le', 'gt', 'ge'] as const;
export type CompareOp = (typeof compareOps)[number];

export const reduceOps = ['sum', 'mean', 'max', 'min'] as const;
export type ReduceOp = (typeof reduceOps)[number];

/**
 * How a row is compared with another: the dot product, minus the Euclidean distance, minus the Manhattan distance, minus the
 * squared Euclidean distance, minus the sum of the moduli of complex differences (real components first; the last column of
 * an odd width is ignored), minus the squared distance of all columns but the last plus the last columns of both rows.
 */
export const scoreOps = ['dot', 'l2', 'l1', 'squaredL2', 'modulus', 'biasedSquaredL2'] as const;
export type ScoreOp = (typeof scoreOps)[number];

/** Operator of a relation on a node's row: none, elementwise product, that of complex numbers, that with their conjugate. */
export const relationOps = ['none', 'hadamard', 'complex', 'conjugate'] as const;
export type RelationOp = (typeof relationOps)[number];

/** Loss of a query against all rows; formulas at `queryLoss` in score-kernels.ts. */
export const queryKinds = ['softmax', 'masked_softmax', 'bce', 'squares'] as const;
export type QueryKind = (typeof queryKinds)[number];

/** Storage types in the order of their codes for `cast` and `copyStrided`. */
export const storageTypes = ['f32', 'f64', 'i32', 'u8', 'f16', 'bf16'] as const;
export type StorageType = (typeof storageTypes)[number];

const codes = <T extends string>(names: readonly T[]): Readonly<Record<T, number>> =>
  Object.fromEntries(names.map((name, index) => [name, index])) as Record<T, number>;

export const unaryCode = codes(unaryOps);
export const binaryCode = codes(binaryOps);
export const compareCode = codes(compareOps);
export const reduceCode = codes(reduceOps);
export const scoreCode = codes(scoreOps);
export const relationCode = codes(relationOps);
export const queryCode = codes(queryKinds);
export const storageCode = codes(storageTypes);
