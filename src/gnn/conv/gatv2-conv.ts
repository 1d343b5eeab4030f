/**
 * Graph attention with dynamic scores (Brody, Alon and Yahav, ICLR 2022, eq. 7), for each of H heads:
 *
 *   α_uv = softmax over the edges u → v of a · leakyRelu(W_l x_u + W_r x_v + W_e e_uv)
 *   y_v = Σ_u α_uv W_l x_u + b, the heads concatenated or averaged
 *
 * One number per edge and head is kept for backward. Self loops and their edge features are as in GATConv.
 */
import type { MessageGraph } from '../../graph/index.js';
import { checkSizes, newParameter, randomOf } from '../../nn/factory.js';
import { init, Linear, Module } from '../../nn/index.js';
import type { Tensor } from '../../tensor/index.js';
import { checkNumber } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { flag, fraction, number } from '../../util/settings.js';
import { checkInput, dropRows, type Features, isPair, type NodePair, project } from '../input.js';
import { attentionDropout, checkHeads, convType, headSettings, headWidth } from './conv-type.js';
import type { GATConvOptions } from './gat-conv.js';
import {
  checkEdgeFeatures,
  glorotLinear,
  glorotParameter,
  joinHeads,
  loopedFeatures,
  splitHeads,
} from './shared.js';

export interface GATv2ConvOptions extends GATConvOptions {
  /** Use W_l for both ends. */
  readonly shareWeights?: boolean;
}

/**
 * x [Ns, in] (or [xSrc, xDst]) → [Nd, heads·out], or [Nd, out] when heads are averaged. Edge features [E, edgeDim] are
 * in the order of edge ids.
 *
 * @example
 * const conv = new GATv2Conv(16, 8, { heads: 4, edgeDim: 3 });
 * const y = conv.forward(graph, x, edgeAttr); // [N, 32]
 */
export class GATv2Conv extends Module {
  readonly heads: number;
  readonly concat: boolean;
  readonly slope: number;
  readonly attentionDropout: number;
  readonly featureDropout: number;
  readonly selfLoops: boolean;
  /** Applied to the sources. */
  readonly linL: Linear;
  /** Applied to the destinations; the same module as `linL` if weights are shared. */
  readonly linR: Linear;
  readonly linEdge: Linear | null;
  /** [heads, out] */
  readonly att: Tensor;
  readonly bias: Tensor | null;

  constructor(inFeatures: number, outFeatures: number, options: GATv2ConvOptions = {}) {
    super();
    checkOptionNames('GATv2Conv', options, {
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
      shareWeights: true,
    });
    const { heads = 1, concat = true, edgeDim, inDst = inFeatures } = options;
    checkSizes('GATv2Conv', { inFeatures, outFeatures, heads });
    const share = (name: 'attentionDropout' | 'featureDropout'): number =>
      checkNumber('GATv2Conv', name, options[name] ?? 0, 0, 1);
    this.heads = heads;
    this.concat = concat;
    this.slope = checkNumber('GATv2Conv', 'slope', options.slope ?? 0.2);
    this.attentionDropout = share('attentionDropout');
    this.featureDropout = share('featureDropout');
    this.selfLoops = options.selfLoops ?? true;
    const width = heads * outFeatures;
    this.linL = glorotLinearWithBias(inFeatures, width, options);
    this.linR = options.shareWeights === true ? this.linL : glorotLinearWithBias(inDst, width, options);
    this.linEdge = edgeDim === undefined ? null : glorotLinear(edgeDim, width, options);
    this.att = glorotParameter([heads, outFeatures], options);
    this.bias = options.bias === false ? null : newParameter([concat ? width : outFeatures], options);
  }

  forward(graph: MessageGraph, x: Features | NodePair, edgeAttr: Tensor | null = null): Tensor {
    const { heads, linL, linR, linEdge } = this;
    const pair = isPair(x);
    const drop = this.training ? this.featureDropout : 0;
    const source = dropRows(graph, 'src', pair ? x[0] : x, drop);
    checkInput('GATv2Conv', 'x', source, graph.numSrcNodes, linL.inFeatures);
    const src = splitHeads(project(source, linL.weight, linL.bias), heads);
    const dst = pair
      ? this.#projectDestinations(graph, dropRows(graph, 'dst', x[1], drop))
      : linR === linL
        ? graph.dstRows(src)
        : graph.dstRows(splitHeads(project(source, linR.weight, linR.bias), heads));
    const looped = this.selfLoops && !pair ? graph.withSelfLoops() : graph;
    const given = checkEdgeFeatures('GATv2Conv', graph, linEdge, edgeAttr);
    const edge =
      given === null || linEdge === null
        ? null
        : splitHeads(linEdge.forward(loopedFeatures(graph, looped, given)), heads);
    const scores = looped.additiveScores(src, dst, this.att, edge, this.slope);
    const attention = looped.edgeSoftmax(scores);
    const weight = dropRows(looped, 'positions', attention, this.training ? this.attentionDropout : 0);
    return joinHeads(looped.aggregate(src, { weight }), this.concat, this.bias);
  }

  /** Projects separately given rows of the destinations. */
  #projectDestinations(graph: MessageGraph, x: Features): Tensor {
    const { linR } = this;
    checkInput('GATv2Conv', 'the destinations of x', x, graph.numDstNodes, linR.inFeatures);
    return splitHeads(project(x, linR.weight, linR.bias), this.heads);
  }

  protected override describe(): string {
    return `${this.linL.inFeatures} → ${this.att.shape[1]}, ${this.heads} heads`;
  }
}

/** Creates a linear map with a Glorot uniform weight and a zero bias. */
function glorotLinearWithBias(inFeatures: number, outFeatures: number, options: GATv2ConvOptions): Linear {
  const lin = new Linear(inFeatures, outFeatures, options);
  init.glorotUniform(lin.weight, randomOf(options));
  if (lin.bias !== null) init.zeros(lin.bias);
  return lin;
}

export const gatv2Type = convType({
  name: 'GATV2',
  settings: {
    ...headSettings,
    negative_slope: number(0.2, 'slope of the leaky ReLU of the attention', { min: 0 }),
    input_dropout: fraction(0, 'dropout of the inputs'),
    attention_dropout: attentionDropout,
    share_weights: flag(false, 'one matrix for both ends of an edge', { ours: true }),
  },
  check: checkHeads,
  make: (options, { inFeatures, outFeatures, random }) =>
    new GATv2Conv(inFeatures, headWidth(options, outFeatures), {
      ...{ random, bias: false },
      heads: options.num_heads,
      concat: !options.average_heads,
      slope: options.negative_slope,
      attentionDropout: options.attention_dropout,
      featureDropout: options.input_dropout,
      shareWeights: options.share_weights,
    }),
  run: (layer, block, x) => layer.forward(block, x),
});
