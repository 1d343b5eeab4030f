/**
 * The layers that an encoder's stages are made of: slices of embeddings and features, reductions, dense layers and graph
 * layers, each followed by its bias and activation.
 *
 * A layer names what it computes from; `GeneralEncoder` knows rows and graphs.
 */
import { GATConv, GCNConv, RGCNConv, SAGEConv } from '../../gnn/index.js';
import { init, Linear, Module, parameter } from '../../nn/index.js';
import type { LayerGraph } from '../../sample/index.js';
import { add, concat, relu, sigmoid, slice, type Tensor, unscoped, zeros } from '../../tensor/index.js';
import { InternalError } from '../../util/errors.js';
import type { Random } from '../../util/philox.js';
import type { Activation, GnnOptions, InitConfig, LayerConfig } from '../config/index.js';

/** What layers need to know beside their configuration. */
export interface LayerContext {
  readonly random: Random;
  readonly numRelations: number;
  readonly incoming: boolean;
  readonly outgoing: boolean;
}

/** Fills a tensor as the configuration says; `fans` are those of the whole table when only a part is filled. */
function initialize(t: Tensor, config: InitConfig, random: Random, fanSum?: number): Tensor {
  switch (config.type) {
    case 'GLOROT_UNIFORM': {
      if (fanSum === undefined) return t.rank < 2 ? init.zeros(t) : init.glorotUniform(t, { random });
      const bound = Math.sqrt(6 / fanSum);
      return init.uniform(t, { random, lo: -bound, hi: bound });
    }
    case 'GLOROT_NORMAL': {
      if (fanSum === undefined) return t.rank < 2 ? init.zeros(t) : init.glorotNormal(t, { random });
      return init.normal(t, { random, std: Math.sqrt(2 / fanSum) });
    }
    case 'UNIFORM': {
      const scale = config.options.scale_factor;
      return init.uniform(t, { random, lo: -scale, hi: scale });
    }
    case 'NORMAL':
      return init.normal(t, { random, mean: config.options.mean, std: config.options.std });
    case 'CONSTANT':
      return init.constant(t, config.options.constant);
    case 'ZEROS':
      return init.zeros(t);
    case 'ONES':
      return init.ones(t);
  }
}

function activate(x: Tensor, activation: Activation): Tensor {
  if (activation === 'RELU') return relu(x);
  return activation === 'SIGMOID' ? sigmoid(x) : x;
}

export abstract class EncoderLayer extends Module {
  readonly config: LayerConfig;
  readonly bias: Tensor | null;

  constructor(config: LayerConfig, random: Random) {
    super();
    this.config = config;
    this.bias = config.bias
      ? unscoped(() => parameter(initialize(zeros([config.output_dim]), config.bias_init, random)))
      : null;
  }

  /** Bias, then activation. */
  finish(x: Tensor): Tensor {
    return activate(this.bias === null ? x : add(x, this.bias), this.config.activation);
  }
}

/** Columns offset … offset + output_dim − 1 of the embeddings or features. */
export class InputLayer extends EncoderLayer {
  readonly source: 'embeddings' | 'features';
  readonly offset: number;

  constructor(config: LayerConfig, random: Random, offset: number) {
    super(config, random);
    this.source = config.type === 'EMBEDDING' ? 'embeddings' : 'features';
    this.offset = offset;
  }

  override forward(rows: Tensor): Tensor {
    const { output_dim: width } = this.config;
    const whole = this.offset === 0 && rows.shape[1] === width;
    return this.finish(whole ? rows : slice(rows, this.offset, this.offset + width, 1));
  }
}

/** All outputs of the stage before as one, side by side, then through a matrix if LINEAR. */
export class ReductionLayer extends EncoderLayer {
  readonly lin: Linear | null;

  constructor(config: LayerConfig & { readonly type: 'REDUCTION' }, random: Random) {
    super(config, random);
    this.lin = config.options.type === 'LINEAR' ? newLinear(config, random) : null;
  }

  override forward(inputs: readonly Tensor[]): Tensor {
    const joined = sideBySide(inputs);
    return this.finish(this.lin === null ? joined : this.lin.forward(joined));
  }
}

/** A matrix on all outputs of the stage before, side by side. */
export class DenseLayer extends EncoderLayer {
  readonly lin: Linear;

  constructor(config: LayerConfig, random: Random) {
    super(config, random);
    this.lin = newLinear(config, random);
  }

  override forward(inputs: readonly Tensor[]): Tensor {
    return this.finish(this.lin.forward(sideBySide(inputs)));
  }
}

function sideBySide(inputs: readonly Tensor[]): Tensor {
  return inputs.length === 1 ? inputs[0] : concat([...inputs], 1);
}

type Conv = GATConv | GCNConv | RGCNConv | SAGEConv;

/** A graph layer on the current block of the sample. */
export class GnnLayer extends EncoderLayer {
  readonly conv: Conv;

  constructor(config: LayerConfig & { readonly type: 'GNN' }, context: LayerContext) {
    super(config, context.random);
    this.conv = newConv(config.input_dim, config.output_dim, config.options, context);
    for (const weight of this.conv.parameters())
      unscoped(() => initialize(weight, config.init, context.random, matrixFans(weight)));
  }

  override forward(graph: LayerGraph, x: Tensor): Tensor {
    const block = graph.block();
    if (this.conv instanceof RGCNConv) {
      const relations = graph.blockRelations() ?? new Int32Array(block.numEdges);
      return this.finish(this.conv.forward(block, x, relations));
    }
    return this.finish(this.conv.forward(block, x));
  }
}

/** Fans of the last two axes: a stack of matrices is initialised as each of them. */
function matrixFans(weight: Tensor): number {
  const [rows, columns] = weight.shape.slice(-2);
  return weight.rank < 2 ? 2 * weight.size : rows + columns;
}

function newConv(into: number, out: number, options: GnnOptions, context: LayerContext): Conv {
  const { random, numRelations, incoming, outgoing } = context;
  const shared = { random, bias: false };
  switch (options.type) {
    case 'GRAPH_SAGE':
      return new SAGEConv(into, out, {
        ...shared,
        aggregator: options.aggregator === 'GCN' ? 'gcn' : 'mean',
      });
    case 'GCN':
      return new GCNConv(into, out, shared);
    case 'GAT': {
      const { num_heads: heads, average_heads: average } = options;
      return new GATConv(into, average ? out : out / heads, {
        ...shared,
        heads,
        concat: !average,
        slope: options.negative_slope,
        attentionDropout: options.attention_dropout,
        featureDropout: options.input_dropout,
      });
    }
    case 'RGCN': {
      // Edges taken against their direction are relations of their own.
      const directions = (incoming ? 1 : 0) + (outgoing ? 1 : 0);
      const relations = Math.max(1, numRelations) * (outgoing ? 2 : Math.max(1, directions));
      const bases = options.num_bases > 0 ? { bases: options.num_bases } : {};
      return new RGCNConv(into, out, { ...shared, relations, ...bases });
    }
  }
}

function newLinear(config: LayerConfig, random: Random): Linear {
  const lin = new Linear(config.input_dim, config.output_dim, { bias: false, random });
  unscoped(() => initialize(lin.weight, config.init, random));
  return lin;
}

/** The layer of one configuration; `offset` is where an input layer's columns start. */
export function newLayer(config: LayerConfig, offset: number, context: LayerContext): EncoderLayer {
  switch (config.type) {
    case 'EMBEDDING':
    case 'FEATURE':
      return new InputLayer(config, context.random, offset);
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
