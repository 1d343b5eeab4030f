/**
 * The layers that an encoder's stages are made of: slices of embeddings and features, reductions, dense layers and graph
 * layers, each followed by its bias and activation.
 *
 * A layer declares its inputs; `GeneralEncoder` passes it rows and graphs.
 */

import { getConvType, hopsOfStage } from '../../../../gnn/conv/conv-registry.js';
import type { ConvType } from '../../../../gnn/index.js';
import type { MessageGraph } from '../../../../graph/index.js';
import { activationTypes } from '../../../../nn/activation.js';
import {
  activation,
  BatchNorm1d,
  Dropout,
  type Layer,
  LayerNorm,
  Linear,
  Module,
  parameter,
} from '../../../../nn/index.js';
import * as init from '../../../../nn/init.js';
import { fillTensor } from '../../../../nn/start-values.js';
import type { LayerGraph } from '../../../../sample/layer-graph.js';
import { add, concat, slice, type Tensor, zeros } from '../../../../tensor/index.js';
import { unscoped } from '../../../../tensor/scope.js';
import { InternalError, StateError } from '../../../../util/errors.js';
import type { Random } from '../../../../util/philox.js';
import type { LayerConfig } from '../../../config/types.js';
import { type TextRows, type TextSizes, textBags } from './text-bags.js';

/** Settings that layers share, in addition to their configuration. */
export interface LayerContext {
  readonly random: Random;
  readonly numRelations: number;
  readonly incoming: boolean;
  readonly outgoing: boolean;
  /** The text of the nodes; null without any. */
  readonly text: TextSizes | null;
}

export abstract class EncoderLayer extends Module {
  readonly config: LayerConfig;
  readonly bias: Tensor | null;
  readonly norm: Layer | null;
  readonly activation: Layer;
  readonly dropout: Dropout | null;

  constructor(config: LayerConfig, random: Random) {
    super();
    this.config = config;
    const width = config.output_dim;
    this.bias = config.bias
      ? unscoped(() => parameter(fillTensor(zeros([width]), config.bias_init, random)))
      : null;
    this.norm = newNorm(config.norm, width);
    this.activation = activation(activationTypes[config.activation]);
    this.dropout = config.dropout > 0 ? new Dropout(config.dropout) : null;
  }

  /** Applies bias, normalisation, activation and dropout, in this order. `rowIds`: the nodes of the rows, by which dropout is drawn. */
  finish(x: Tensor, rowIds: Int32Array | null): Tensor {
    const biased = this.bias === null ? x : add(x, this.bias);
    const active = this.activation.forward(this.norm === null ? biased : this.norm.forward(biased));
    return this.dropout === null ? active : this.dropout.forward(active, rowIds);
  }

  /** Whether `finish` returns its input. */
  get isPlain(): boolean {
    const { bias, activation: word, norm, dropout } = this.config;
    return !bias && word === 'NONE' && norm === 'NONE' && dropout === 0;
  }
}

function newNorm(norm: LayerConfig['norm'], width: number): Layer | null {
  if (norm === 'BATCH') return new BatchNorm1d(width);
  return norm === 'LAYER' ? new LayerNorm(width) : null;
}

/** Columns offset … offset + output_dim − 1 of the embeddings or features, or the rows of a text layer. */
export class InputLayer extends EncoderLayer {
  readonly source: 'embeddings' | 'features' | 'text';
  readonly offset: number;

  constructor(config: LayerConfig, random: Random, offset: number) {
    super(config, random);
    this.source = ({ EMBEDDING: 'embeddings', TEXT: 'text' } as const)[config.type as string] ?? 'features';
    this.offset = offset;
  }

  override forward(rows: Tensor, rowIds: Int32Array | null = null): Tensor {
    const { output_dim: width } = this.config;
    const whole = this.offset === 0 && rows.shape[1] === width;
    return this.finish(whole ? rows : slice(rows, this.offset, this.offset + width, 1), rowIds);
  }
}

/**
 * Rows from the text of nodes: the sum of the vectors of a column's words, weighted by rarity, times the matrix of the
 * column. All columns share the vectors of words, and each has its own matrix.
 */
export class TextLayer extends InputLayer {
  readonly words: Tensor;
  readonly lin: Linear;
  readonly #wordDropout: number;

  constructor(config: LayerConfig & { readonly type: 'TEXT' }, { random, text }: LayerContext) {
    super(config, random, 0);
    if (text === null)
      throw new StateError('TextLayer: expected a dataset with text columns for a TEXT layer, got none.');
    const { word_dim: dim, word_dropout: dropout } = config.options;
    this.#wordDropout = dropout;
    // A column of a single word starts with a row of length 1.
    const scale = Math.sqrt(3 / dim);
    const bounds = { lo: -scale, hi: scale, random };
    this.words = unscoped(() => parameter(init.uniform(zeros([text.words, dim]), bounds)));
    this.lin = newLinear({ ...config, input_dim: text.columns * dim }, random);
  }

  /** Returns one row per node. */
  encode(text: TextRows, rowIds: Int32Array | null): Tensor {
    const dropped =
      this.training && this.#wordDropout > 0
        ? { ...text, matrix: text.matrix.dropout(this.#wordDropout, textRowIds(text, rowIds)) }
        : text;
    return this.lin.forward(textBags(dropped, this.words));
  }
}

/** Returns the ids of the rows of a text, by which dropout is drawn; null if those of the nodes are not known. */
function textRowIds({ columns }: TextRows, ids: Int32Array | null): Int32Array | null {
  return ids === null
    ? null
    : Int32Array.from(
        { length: ids.length * columns },
        (_, i) => ids[Math.floor(i / columns)] * columns + (i % columns),
      );
}

/** Concatenates the columns of all outputs of the previous stage; LINEAR multiplies them by a matrix. SUM adds the outputs. */
export class ReductionLayer extends EncoderLayer {
  readonly lin: Linear | null;

  constructor(config: LayerConfig & { readonly type: 'REDUCTION' }, random: Random) {
    super(config, random);
    this.lin = config.options.type === 'LINEAR' ? newLinear(config, random) : null;
  }

  override forward(inputs: readonly Tensor[], rowIds: Int32Array | null = null): Tensor {
    const adds = this.config.type === 'REDUCTION' && this.config.options.type === 'SUM';
    const joined = adds ? inputs.reduce((sum, rows) => add(sum, rows)) : sideBySide(inputs);
    return this.finish(this.lin === null ? joined : this.lin.forward(joined), rowIds);
  }
}

/** A matrix on the concatenated columns of all outputs of the previous stage. */
export class DenseLayer extends EncoderLayer {
  readonly lin: Linear;

  constructor(config: LayerConfig, random: Random) {
    super(config, random);
    this.lin = newLinear(config, random);
  }

  override forward(inputs: readonly Tensor[], rowIds: Int32Array | null = null): Tensor {
    return this.finish(this.lin.forward(sideBySide(inputs)), rowIds);
  }
}

function sideBySide(inputs: readonly Tensor[]): Tensor {
  return inputs.length === 1 ? inputs[0] : concat([...inputs], 1);
}

/** A graph layer on the current block of the sample. */
export class GnnLayer extends EncoderLayer {
  readonly conv: Module;
  readonly #record: ConvType;

  constructor(config: LayerConfig & { readonly type: 'GNN' }, context: LayerContext) {
    super(config, context.random);
    this.#record = getConvType(config.options.type);
    const { input_dim: inFeatures, output_dim: outFeatures } = config;
    this.conv = this.#record.make(config.options as never, { ...context, inFeatures, outFeatures });
    // Vectors, such as an ε or the biases inside a perceptron, keep the start values of their layer.
    for (const weight of this.conv.parameters())
      if (weight.rank >= 2) unscoped(() => fillTensor(weight, config.init, context.random));
  }

  /** Hops of the layer. */
  get hops(): number {
    return hopsOfStage([this.config]);
  }

  /** @param blocks one for each hop, of `graph`, whose relations are those of a single block. */
  override forward(graph: LayerGraph, x: Tensor, blocks: readonly MessageGraph[] = [graph.block()]): Tensor {
    const [first] = blocks;
    const relations = (): Int32Array => graph.blockRelations() ?? new Int32Array(first.numEdges);
    const y = this.#record.run(this.conv, first, x, relations, blocks);
    return this.finish(y, blocks[blocks.length - 1].rowIds('dst'));
  }
}

function newLinear(config: LayerConfig, random: Random): Linear {
  const lin = new Linear(config.input_dim, config.output_dim, { bias: false, random });
  unscoped(() => fillTensor(lin.weight, config.init, random));
  return lin;
}

/** Makes the layer of a configuration; `offset` is the first column of an input layer. */
export function newLayer(config: LayerConfig, offset: number, context: LayerContext): EncoderLayer {
  switch (config.type) {
    case 'EMBEDDING':
    case 'FEATURE':
      return new InputLayer(config, context.random, offset);
    case 'TEXT':
      return new TextLayer(config, context);
    case 'REDUCTION':
      return new ReductionLayer(config, context.random);
    case 'DENSE':
      return new DenseLayer(config, context.random);
    case 'GNN':
      return new GnnLayer(config, context);
    default:
      throw new InternalError(`newLayer: no layer for ${JSON.stringify(config)}.`);
  }
}
