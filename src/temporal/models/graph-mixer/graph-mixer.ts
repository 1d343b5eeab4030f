/**
 * `GraphMixer` (Cong et al., "Do we really need complicated model architectures for temporal networks?", ICLR 2023): a node is
 * embedded from its K latest events by an MLP-Mixer, with a fixed encoding of their ages, and from the node features around
 * it: z = W [mean of the mixed tokens ‖ x + mean of x over neighbours younger than T]. No memory and no attention.
 */
import { parameterOptions } from '../../../nn/factory.js';
import { Linear, Module, type ParameterOptions, TimeEncode } from '../../../nn/index.js';
import { concat, isGradEnabled, mean, reshape, type Tensor } from '../../../tensor/index.js';
import { checkInteger, checkNumber, StateError } from '../../../util/errors.js';
import { checkOptionNames } from '../../../util/option-names.js';
import type { TemporalBatch } from '../../batch.js';
import { EdgePredictor, type EdgeScores } from '../../layers/edge-predictor.js';
import type { TemporalOutput } from '../output.js';
import { MixerBlock } from './mixer-block.js';
import { fixedFrequencies, nodeSums, type RootRange, recentTokens } from './recent-tokens.js';

export interface GraphMixerOptions extends ParameterOptions {
  /** Latest events of a node that are mixed (K). */
  readonly neighbors: number;
  readonly dimTime: number;
  readonly dimOut: number;
  /** Blocks of the mixer. */
  readonly layers: number;
  readonly tokenExpansion: number;
  readonly channelExpansion: number;
  readonly dropout: number;
  /** The age up to which neighbours count for node features (T). */
  readonly timeGap: number;
  /** Widths of edge and of node features; 0 without. */
  readonly dimEdge: number;
  readonly dimNode: number;
}

/** Roots that are embedded together in evaluation, which bounds memory. */
const evaluatedRoots = 4096;

export class GraphMixer extends Module {
  readonly neighbors: number;
  readonly timeGap: number;
  readonly dimNode: number;
  readonly time: TimeEncode;
  readonly project: Linear;
  readonly blocks: readonly MixerBlock[];
  readonly output: Linear;
  readonly predictor: EdgePredictor;

  constructor(options: GraphMixerOptions) {
    super();
    checkOptionNames('GraphMixer', options, {
      ...{ neighbors: true, dimTime: true, dimOut: true, layers: true, dimEdge: true, dimNode: true },
      ...{ tokenExpansion: true, channelExpansion: true, dropout: true, timeGap: true },
      ...{ dtype: true, random: true },
    });
    const { dimTime, dimOut, dimEdge, layers, tokenExpansion, channelExpansion, dropout } = options;
    const own = parameterOptions(options);
    this.neighbors = checkInteger('GraphMixer', 'neighbors', options.neighbors, 1);
    this.timeGap = checkNumber('GraphMixer', 'timeGap', options.timeGap, 0);
    this.dimNode = checkInteger('GraphMixer', 'dimNode', options.dimNode);
    this.time = new TimeEncode(dimTime, { ...own, trainable: false });
    this.time.weight.floats.set(fixedFrequencies(dimTime));
    this.project = new Linear(dimEdge + dimTime, dimOut, own);
    this.blocks = Array.from(
      { length: checkInteger('GraphMixer', 'layers', layers, 1) },
      () =>
        new MixerBlock(
          { tokens: this.neighbors, channels: dimOut, tokenExpansion, channelExpansion, dropout },
          own,
        ),
    );
    this.output = new Linear(dimOut + this.dimNode, dimOut, own);
    this.predictor = new EdgePredictor(dimOut, own);
  }

  /** Width of embeddings. */
  get dimOut(): number {
    return this.output.outFeatures;
  }

  forward(batch: TemporalBatch): TemporalOutput {
    const roots = batch.rootNodes.length;
    if (batch.hops.length !== 1)
      throw new StateError(
        `GraphMixer: expected 1 hop for batch, got ${batch.hops.length}. Sample with one fan-out.`,
      );
    if (isGradEnabled() || roots <= evaluatedRoots)
      return { embeddings: this.#embed(batch, { from: 0, to: roots }) };
    const rows: Tensor[] = [];
    for (let from = 0; from < roots; from += evaluatedRoots)
      rows.push(this.#embed(batch, { from, to: Math.min(roots, from + evaluatedRoots) }));
    return { embeddings: concat(rows, 0) };
  }

  score({ embeddings }: TemporalOutput, batch: TemporalBatch): EdgeScores {
    return this.predictor.forward(embeddings, batch);
  }

  #embed(batch: TemporalBatch, range: RootRange): Tensor {
    const count = range.to - range.from;
    const tokens = this.project.forward(recentTokens(batch, this.neighbors, this.time, range));
    let x = reshape(tokens, [count, this.neighbors, this.project.outFeatures]);
    for (const block of this.blocks) x = block.forward(x);
    const mixed = mean(x, 1);
    if (this.dimNode === 0) return this.output.forward(mixed);
    return this.output.forward(concat([mixed, nodeSums(batch, batch.hops[0], this.timeGap, range)], 1));
  }
}
