/**
 * `GeneralModel`: the family of TGL and StarryGL in one class, built from a model file. Memory after mail, then either
 * attention over the sampled past, hop by hop from the farthest inwards (TGN, TGAT, DyRep, DySAT), or the memory itself
 * (JODIE, APAN); then scores of pairs.
 *
 * The model reads a batch and returns values; it never writes state. DyRep scores memory: its attention only writes mails
 * and gets no gradient, as in the originals. With several windows (DySAT) each has its own layers and a recurrent cell
 * runs over their embeddings, the oldest window first.
 */
import { parse } from 'yaml';
import { parameterOptions } from '../../nn/factory.js';
import { init, Module, type ParameterOptions, RNNCell } from '../../nn/index.js';
import type { TemporalHop } from '../../sample/temporal-hop.js';
import { type FloatDType, gatherRows, noGrad, type Tensor, zeros } from '../../tensor/index.js';
import { ConfigError, checkInteger, expected, StateError } from '../../util/errors.js';
import type { TemporalBatch } from '../batch.js';
import type { TemporalConfig } from '../config/index.js';
import { parseTemporalConfig } from '../config/parse.js';
import { TemporalAttentionLayer } from '../layers/attention-layer.js';
import { EdgePredictor, type EdgeScores } from '../layers/edge-predictor.js';
import { IdentityLayer, JodieTimeLayer } from '../layers/identity-layer.js';
import { PairEncoder } from '../pair-encoder.js';
import { checkNodeFeatures, MemoryStage, type MemoryView, rowsOf, timesOf } from './memory-stage.js';
import type { MemoryOutput, TemporalOutput } from './output.js';
import { selectRows, selectTimes } from './state-rows.js';

export interface GeneralModelSizes extends ParameterOptions {
  /** Width of node features; 0 without. */
  readonly dimNode?: number;
  /** Width of edge features; 0 without. */
  readonly dimEdge?: number;
}

/**
 * @example
 * const model = GeneralModel.fromYaml(text, { dimEdge: graph.featureWidth });
 * const output = model.forward(batch);
 * const { positive, negative } = model.score(output, batch);
 */
export class GeneralModel extends Module {
  readonly config: TemporalConfig;
  readonly dimNode: number;
  readonly dimEdge: number;
  readonly memory: MemoryStage | null;
  /** By window, then by layer, the one of the farthest hop first; empty for arch identity. */
  readonly attention: readonly (readonly TemporalAttentionLayer[])[];
  readonly identity: IdentityLayer | null;
  readonly jodieTime: JodieTimeLayer | null;
  readonly combiner: RNNCell | null;
  readonly predictor: EdgePredictor;

  constructor(config: TemporalConfig, sizes: GeneralModelSizes = {}) {
    super();
    const { gnn, memory, sampling } = config;
    this.config = config;
    this.dimNode = checkInteger('GeneralModel', 'dimNode', sizes.dimNode ?? 0);
    this.dimEdge = checkInteger('GeneralModel', 'dimEdge', sizes.dimEdge ?? 0);
    const all = { ...sizes, dimNode: this.dimNode, dimEdge: this.dimEdge };
    const own = parameterOptions(sizes);
    this.memory = memory.type === 'node' ? new MemoryStage(config, all) : null;
    const attends = gnn.arch === 'transformer_attention';
    this.attention = attends
      ? Array.from({ length: sampling.history }, () => attentionStack(config, all))
      : [];
    this.identity = attends ? null : new IdentityLayer(gnn.dim_out, own);
    this.jodieTime = gnn.time_transform === 'JODIE' ? new JodieTimeLayer(gnn.dim_out, own) : null;
    this.combiner = gnn.combine === 'rnn' ? new RNNCell(gnn.dim_out, gnn.dim_out, own) : null;
    this.predictor = new EdgePredictor(
      gnn.dyrep ? memory.dim_out : gnn.dim_out,
      own,
      gnn.pair_depth > 0 ? PairEncoder.width : 0,
    );
    if (gnn.variant === 'tgn') startAsTgn(this.predictor, sizes);
  }

  /** A model from the text of a model file in TGL's format. Keys without effect are in `parseTemporalConfig`'s warnings. */
  static fromYaml(text: string, sizes: GeneralModelSizes = {}): GeneralModel {
    return new GeneralModel(parseTemporalConfig(parsedYaml(text)).config, sizes);
  }

  /** Width of embeddings. */
  get dimOut(): number {
    return this.predictor.src.inFeatures;
  }

  forward(batch: TemporalBatch): MemoryOutput {
    const { gnn } = this.config;
    const views = this.memory === null ? null : this.memory.forward(batch);
    const inMail = gnn.use_src_emb || gnn.use_dst_emb;
    if (gnn.dyrep && views !== null) {
      const roots = views[0].rowOf.subarray(0, batch.rootNodes.length);
      const mailEmbeddings = inMail ? noGrad(() => this.#embed(batch, views)) : null;
      return output(gatherRows(views[0].updated, roots), mailEmbeddings, views[0]);
    }
    const embeddings = this.#embed(batch, views);
    return output(embeddings, inMail ? embeddings.detach() : null, views === null ? null : views[0]);
  }

  /** Returns the logits of every event and of its negatives. */
  score(output: TemporalOutput, batch: TemporalBatch): EdgeScores {
    return this.predictor.forward(output.embeddings, batch, batch.pairFeatures ?? null);
  }

  /** Returns the input of the first layer for the nodes of a batch [U, width]; with memory, after mail. */
  nodeRows(batch: TemporalBatch): Tensor {
    return this.memory === null ? this.#nodeRows(batch) : this.memory.forward(batch)[0].h;
  }

  #embed(batch: TemporalBatch, views: readonly MemoryView[] | null): Tensor {
    if (this.identity !== null && views !== null) return this.#fromMemory(this.identity, batch, views[0]);
    const windows = this.attention.map((layers, w) =>
      this.#attend(layers, w === 0 ? batch.hops : batch.snapshots[w], batch, views?.[w] ?? null, w),
    );
    const { combiner } = this;
    if (combiner === null) return windows[0];
    return windows.reduceRight<Tensor | undefined>((h, x) => combiner.forward(x, h), undefined) as Tensor;
  }

  /** Arch identity: LN(memory), moved along with time for JODIE. */
  #fromMemory(identity: IdentityLayer, batch: TemporalBatch, view: MemoryView): Tensor {
    const roots = view.rowOf.subarray(0, batch.rootNodes.length);
    const h = identity.forward(gatherRows(view.h, roots));
    if (this.jodieTime === null) return h;
    // With 'query' the updated memory has the query time; the elapsed time is counted from the stored one.
    const since = this.config.memory.time_input === 'query' ? view.storedTime : view.updatedTime;
    return this.jodieTime.forward(h, batch.rootTimes, selectTimes(since, roots));
  }

  #attend(
    layers: readonly TemporalAttentionLayer[],
    hops: readonly TemporalHop[],
    batch: TemporalBatch,
    view: MemoryView | null,
    window: number,
  ): Tensor {
    checkHops(hops, layers.length);
    let h = view === null ? this.#nodeRows(batch) : view.h;
    let rowOf: Int32Array | null = view === null ? batch.nodeOfRow[window] : view.rowOf;
    for (const [i, layer] of layers.entries()) {
      const hop = hops[layers.length - 1 - i];
      const rows = rowOf;
      const dstRows = rows === null ? firstRows(hop.numDst) : rows.subarray(0, hop.numDst);
      const srcRows = rows === null ? hop.sources : selectRows(rows, hop.sources);
      const { edgeFeatures, featureWidth } = batch;
      h = layer.forward({ hop, h, dstRows, srcRows, edgeFeatures, featureWidth });
      rowOf = null;
    }
    return h;
  }

  /** Without memory: the node features, or rows of no width. */
  #nodeRows(batch: TemporalBatch): Tensor {
    if (this.dimNode > 0) return checkNodeFeatures(batch);
    return zeros([batch.nodes.length, 0], { dtype: this.predictor.src.weight.dtype as FloatDType });
  }
}

function attentionStack(
  { gnn, memory, train }: TemporalConfig,
  sizes: GeneralModelSizes & { readonly dimNode: number; readonly dimEdge: number },
): TemporalAttentionLayer[] {
  const first = memory.type === 'node' ? memory.dim_out : sizes.dimNode;
  if (first + sizes.dimEdge + gnn.dim_time === 0)
    throw new ConfigError(
      'gnn.dim_time: expected a width of at least 1 for a model without memory on a stream without features, got 0. Set it, or give nodes features (dataset.random_node_features makes some).',
    );
  return Array.from(
    { length: gnn.layer },
    (_, i) =>
      new TemporalAttentionLayer({
        ...sizes,
        dimNode: i === 0 ? first : gnn.dim_out,
        dimTime: gnn.dim_time,
        dimOut: gnn.dim_out,
        heads: gnn.att_head,
        dropout: train.dropout,
        attDropout: train.att_dropout,
        variant: gnn.variant,
      }),
  );
}

function output(embeddings: Tensor, mailEmbeddings: Tensor | null, view: MemoryView | null): MemoryOutput {
  const held = (): MemoryView => {
    if (view !== null) return view;
    throw new StateError('stateOf: expected a model with memory, got one without (memory.type none).');
  };
  return {
    embeddings,
    mailEmbeddings,
    updated: view === null ? null : view.updated,
    updatedTime: view === null ? new Float64Array(0) : view.updatedTime,
    stateOf: (roots) => noGrad(() => gatherRows(held().updated, rowsOf(held(), roots))),
    timeOf: (roots) => timesOf(held(), roots),
  };
}

function checkHops(hops: readonly TemporalHop[], layers: number): void {
  if (hops.length === layers) return;
  throw new StateError(
    `GeneralModel: expected ${layers} hops for batch, got ${hops.length}. Sample with the fan-outs of the model file.`,
  );
}

function firstRows(count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, i) => i);
}

/** Initialises with normal Glorot weights, as TGN's merge layers. */
function startAsTgn({ src, dst, out }: EdgePredictor, sizes: GeneralModelSizes): void {
  const random = sizes.random === undefined ? {} : { random: sizes.random };
  // The two weights are halves of one [d, 2d].
  const std = Math.sqrt(2 / (3 * src.inFeatures));
  for (const { weight } of [src, dst]) init.normal(weight, { ...random, std });
  init.glorotNormal(out.weight, random);
}

function parsedYaml(text: unknown): unknown {
  const where = 'GeneralModel.fromYaml';
  if (typeof text !== 'string')
    throw new ConfigError(expected(where, 'the text of a model file', 'text', text));
  let document: unknown;
  try {
    document = parse(text);
  } catch (error) {
    const [reason] = (error as Error).message.split('\n');
    throw new ConfigError(
      `${where}: expected YAML, got an error: ${reason.replace(/:$/, '.')}`,
      {},
      { cause: error },
    );
  }
  if (document !== null && document !== undefined) return document;
  throw new ConfigError(
    `${where}: expected the sections sampling, memory, gnn and train, got an empty text.`,
  );
}
