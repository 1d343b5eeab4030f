/**
 * Neural network modules, losses, optimisers and initial values.
 */
export {
  type ActivationName,
  activation,
  ELU,
  GELU,
  Identity,
  LeakyReLU,
  ReLU,
  Sigmoid,
  Softplus,
  Tanh,
} from './activation.js';
export {
  type AttentionCall,
  type AttentionResult,
  MultiheadAttention,
  type MultiheadAttentionOptions,
} from './attention.js';
export { BatchNorm1d, type BatchNormOptions } from './batch-norm.js';
export { Dropout, type DropoutOptions } from './dropout.js';
export { Embedding, type EmbeddingOptions } from './embedding.js';
export type { ParameterOptions } from './factory.js';
export * as init from './init.js';
export { LayerNorm, type LayerNormOptions } from './layer-norm.js';
export { Linear, type LinearOptions } from './linear.js';
export * from './losses/index.js';
export { type Layer, Module } from './module.js';
export * from './optim/index.js';
export { buffer, parameter } from './parameter.js';
export { type CellOptions, GRUCell, RNNCell, type RNNCellOptions } from './recurrent.js';
export { MLP, type MLPOptions, Sequential } from './sequential.js';
export type { LoadOptions, LoadResult } from './state-dict.js';
export { TimeEncode, type TimeEncodeOptions } from './time-encode.js';
