/**
 * Graph attention (Veličković et al., ICLR 2018, eq. 1–6), for each of H heads:
 *
 *   h_u = W x_u
 *   α_uv = softmax over the edges u → v of leakyRelu(a_src·h_u + a_dst·h_v + a_edge·W_e e_uv)
 *   y_v = Σ_u α_uv h_u + b, the heads concatenated or averaged
 *
 * The pass over the edges is fused: no array per edge and feature is stored. A node that has a self loop keeps it and
 * gets no other; an added loop has the mean of the features of the edges into its node.
 */
import type { MessageGraph } from '../../graph/index.js';
import { checkSizes, newParameter } from '../../nn/factory.js';
import { type Linear, Module, type ParameterOptions } from '../../nn/index.js';
import { linear, type Tensor } from '../../tensor/index.js';
import { checkNumber } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { fraction, number } from '../../util/settings.js';
import { checkInput, dropRows, type Features, isPair, type NodePair, project } from '../input.js';
import { attentionDropout, checkHeads, convType, headSettings, headWidth } from './conv-type.js';
import {
  checkEdgeFeatures,
  foldScores,
  glorotLinear,
  glorotParameter,
  headScores,
  joinHeads,
  loopedFeatures,
  splitHeads,
} from './shared.js';

export interface GATConvOptions extends ParameterOptions {
  /** Number of heads (default 1). */
  readonly heads?: number;
  /** Concatenate the heads (the default) instead of averaging them. */
  readonly concat?: boolean;
  /** Slope of the leaky ReLU on scores (default 0.2). */
  readonly slope?: number;
  /** Probability of dropping an attention weight in training. */
  readonly attentionDropout?: number;
  /** Probability of dropping an input feature in training. */
  readonly featureDropout?: number;
  /** Let every node attend to itself (the default if destinations are among the sources). */
  readonly selfLoops?: boolean;
  /** Width of the edge features; if absent, the layer takes none. */
  readonly edgeDim?: number;
  /** Width of the features of destinations, if they have a separate linear map. */
  readonly inDst?: number;
  readonly bias?: boolean;
}

/**
 * x [Ns, in] (or [xSrc, xDst]) → [Nd, heads·out], or [Nd, out] when heads are averaged. Edge features [E, edgeDim] are
 * in the order of edge ids. Weights start Glorot uniform, the bias 0.
 *
 * @example
 * const conv = new GATConv(1433, 8, { heads: 8, attentionDropout: 0.6 });
 * const y = conv.forward(graph, x); // [N, 64]
 */
export class GATConv extends Module {
  readonly heads: number;
  readonly concat: boolean;
  readonly slope: number;
  readonly attentionDropout: number;
  readonly featureDropout: number;
  readonly selfLoops: boolean;
  /** Applied to both ends, or to the sources alone if there is a `linDst`. */
  readonly lin: Linear;
  readonly linDst: Linear | null;
  readonly linEdge: Linear | null;
  /** [heads, out] */
  readonly attSrc: Tensor;
  readonly attDst: Tensor;
  readonly attEdge: Tensor | null;
  readonly bias: Tensor | null;

  constructor(inFeatures: number, outFeatures: number, options: GATConvOptions = {}) {
    super();
    checkOptionNames('GATConv', options, {
      dtype: true,
      random: true,
      heads: true,
      concat: true,
      slope: true,
      attentionDropout: true,
      featureDropout: true,
      selfLoops: true,
      edgeDim: true,
      inDst: true,
      bias: true,
    });
    const { heads = 1, concat = true, edgeDim, inDst } = options;
    checkSizes('GATConv', { inFeatures, outFeatures, heads });
    const share = (name: 'attentionDropout' | 'featureDropout'): number =>
      checkNumber('GATConv', name, options[name] ?? 0, 0, 1);
    this.heads = heads;
    this.concat = concat;
    this.slope = checkNumber('GATConv', 'slope', options.slope ?? 0.2);
    this.attentionDropout = share('attentionDropout');
    this.featureDropout = share('featureDropout');
    this.selfLoops = options.selfLoops ?? true;
    const width = heads * outFeatures;
    const attention = (): Tensor => glorotParameter([heads, outFeatures], options);
    this.lin = glorotLinear(inFeatures, width, options);
    this.linDst = inDst === undefined ? null : glorotLinear(inDst, width, options);
    this.linEdge = edgeDim === undefined ? null : glorotLinear(edgeDim, width, options);
    this.attSrc = attention();
    this.attDst = attention();
    this.attEdge = edgeDim === undefined ? null : attention();
    this.bias = options.bias === false ? null : newParameter([concat ? width : outFeatures], options);
  }

  forward(graph: MessageGraph, x: Features | NodePair, edgeAttr: Tensor | null = null): Tensor {
    const pair = isPair(x);
    const drop = this.training ? this.featureDropout : 0;
    const source = dropRows(graph, 'src', pair ? x[0] : x, drop);
    checkInput('GATConv', 'x', source, graph.numSrcNodes, this.lin.inFeatures);
    const value = splitHeads(project(source, this.lin.weight), this.heads);
    const dstScore = pair
      ? this.#destinationScores(graph, dropRows(graph, 'dst', x[1], drop))
      : this.linDst === null
        ? headScores(graph.dstRows(value), this.attDst)
        : graph.dstRows(project(source, foldScores(this.linDst.weight, this.attDst)));
    const looped = this.selfLoops && !pair ? graph.withSelfLoops() : graph;
    const y = looped.attention(value, headScores(value, this.attSrc), dstScore, {
      slope: this.slope,
      edgeScore: this.#edgeScores(graph, looped, edgeAttr),
      dropout: this.training ? this.attentionDropout : 0,
    });
    return joinHeads(y, this.concat, this.bias);
  }

  /** Returns scores of destinations with separate rows: [Nd, heads], without computing their h. */
  #destinationScores(graph: MessageGraph, x: Features): Tensor {
    const { weight, inFeatures } = this.linDst ?? this.lin;
    checkInput('GATConv', 'the destinations of x', x, graph.numDstNodes, inFeatures);
    return project(x, foldScores(weight, this.attDst));
  }

  #edgeScores(graph: MessageGraph, looped: MessageGraph, edgeAttr: Tensor | null): Tensor | null {
    const { linEdge, attEdge } = this;
    const given = checkEdgeFeatures('GATConv', graph, linEdge, edgeAttr);
    if (given === null || linEdge === null || attEdge === null) return null;
    return linear(loopedFeatures(graph, looped, given), foldScores(linEdge.weight, attEdge));
  }

  protected override describe(): string {
    return `${this.lin.inFeatures} → ${this.attSrc.shape[1]}, ${this.heads} heads`;
  }
}

export const gatType = convType({
  name: 'GAT',
  settings: {
    ...headSettings,
    negative_slope: number(0.2, 'slope of the leaky ReLU of the attention', { min: 0 }),
    input_dropout: fraction(0, 'dropout of the inputs'),
    attention_dropout: attentionDropout,
  },
  check: checkHeads,
  make: (options, { inFeatures, outFeatures, random }) =>
    new GATConv(inFeatures, headWidth(options, outFeatures), {
      ...{ random, bias: false },
      heads: options.num_heads,
      concat: !options.average_heads,
      slope: options.negative_slope,
      attentionDropout: options.attention_dropout,
      featureDropout: options.input_dropout,
    }),
  run: (layer, block, x) => layer.forward(block, x),
});
