/**
 * GAT (Veličković et al., ICLR 2018): attention layers with concatenated heads, averaged in the last one. For the
 * numbers of the paper: sizes [F, 8, classes], 8 heads, both dropouts 0.6, ELU.
 */
import type { MessageGraph } from '../../graph/index.js';
import { parameterOptions } from '../../nn/factory.js';
import { Tensor } from '../../tensor/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { GATConv, type GATConvOptions } from '../conv/gat-conv.js';
import { GATv2Conv } from '../conv/gatv2-conv.js';
import type { Features } from '../input.js';
import {
  type EdgeData,
  LayeredModel,
  layerSizes,
  type ModelOptions,
  needFeatures,
  type SizedLayer,
} from './layered-model.js';

export interface GATOptions extends ModelOptions {
  /** Heads of the hidden layers (default 8). */
  readonly heads?: number;
  /** Heads of the last layer, averaged (default 1). */
  readonly outHeads?: number;
  /** Probability of dropping an attention weight in training. */
  readonly attentionDropout?: number;
  readonly selfLoops?: boolean;
  /** Width of the edge features, given to `forward` as its last argument. */
  readonly edgeDim?: number;
  /** Use the dynamic scores of GATv2. */
  readonly v2?: boolean;
}

/**
 * @param sizes input size, hidden sizes of one head, output size.
 * @example
 * const model = new GAT([1433, 8, 7], { heads: 8, dropout: 0.6, attentionDropout: 0.6 });
 * const logits = model.forward(graph, x);
 */
export class GAT extends LayeredModel<GATConv | GATv2Conv> {
  constructor(sizes: readonly number[], options: GATOptions = {}) {
    checkOptionNames('GAT', options, {
      dtype: true,
      random: true,
      dropout: true,
      inputDropout: true,
      norm: true,
      residual: true,
      activation: true,
      jumpingKnowledge: true,
      heads: true,
      outHeads: true,
      attentionDropout: true,
      selfLoops: true,
      edgeDim: true,
      v2: true,
    });
    super(makeLayers(sizes, options), sizes[sizes.length - 1], { activation: 'elu', ...options });
  }

  protected convolve(i: number, graph: MessageGraph, x: Features | null, edgeData: EdgeData): Tensor {
    if (edgeData !== null && !(edgeData instanceof Tensor))
      throw new ValueError(expected('GAT', 'edge features as a tensor', 'edgeData', edgeData));
    return this.layers[i].forward(graph, needFeatures('GAT', x), edgeData);
  }
}

function makeLayers(sizes: readonly number[], options: GATOptions): SizedLayer<GATConv | GATv2Conv>[] {
  const { heads = 8, outHeads = 1 } = options;
  const conv = convOptions(options);
  const Conv = options.v2 === true ? GATv2Conv : GATConv;
  const pairs = layerSizes('GAT', sizes, options);
  const onlyHidden = (options.jumpingKnowledge ?? null) !== null;
  return pairs.map(([into, out], i) => {
    const last = !onlyHidden && i === pairs.length - 1;
    const inWidth = i === 0 ? into : into * heads;
    const own = { ...conv, heads: last ? outHeads : heads, concat: !last };
    return { layer: new Conv(inWidth, out, own), inWidth, outWidth: last ? out : out * heads };
  });
}

/** Returns the options of a model that belong to its layers. */
function convOptions(options: GATOptions): GATConvOptions {
  const { attentionDropout, selfLoops, edgeDim } = options;
  return {
    ...parameterOptions(options),
    ...(attentionDropout === undefined ? {} : { attentionDropout }),
    ...(selfLoops === undefined ? {} : { selfLoops }),
    ...(edgeDim === undefined ? {} : { edgeDim }),
  };
}
