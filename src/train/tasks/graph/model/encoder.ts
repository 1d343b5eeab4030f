/**
 * Encoders: from the inputs of a batch's nodes to one row per target. `GeneralEncoder` is made from a configuration:
 * stages of parallel layers, the first of embeddings and features, later ones reducing, transforming or aggregating.
 *
 * `encodeFullGraph` encodes all nodes, stage by stage, so that the work grows with the edges and not with the
 * neighbourhoods of several hops. With all neighbours it gives the results of the batches.
 */
import type { MessageGraph } from '../../../../graph/index.js';
import { Module } from '../../../../nn/index.js';
import type { LayerGraph } from '../../../../sample/layer-graph.js';
import {
  fromTypedArray,
  noGrad,
  scope,
  slice,
  type Tensor,
  type TensorDevice,
} from '../../../../tensor/index.js';
import { expected, StateError, ValueError } from '../../../../util/errors.js';
import { checkOptionNames } from '../../../../util/option-names.js';
import type { Random } from '../../../../util/philox.js';
import type { EncoderConfig } from '../../../config/index.js';
import type { LayerConfig } from '../../../config/types.js';
import { KHopNeighborSampler, type TrainingNeighborSampler } from '../batch/neighbor-sampler.js';
import type { GraphStorage } from '../storage/graph-storage.js';
import { type EncodedRows, hasRandomAccess, InputRows, MadeRows } from './encoded-rows.js';
import {
  type DenseLayer,
  type EncoderLayer,
  GnnLayer,
  InputLayer,
  type LayerContext,
  newLayer,
  type ReductionLayer,
  TextLayer,
} from './encoder-layer.js';
import { gatherText, type TextRows, type TextSizes } from './text-bags.js';

/** Rows of the nodes of a batch, in the order of its graph. */
export interface NodeInputs {
  readonly embeddings: Tensor | null;
  readonly features: Tensor | null;
  /** The words of the nodes. */
  readonly text?: TextRows | null;
  /** The nodes of the rows, by which dropout is drawn without a graph. */
  readonly ids?: Int32Array | null;
}

/** Results for all nodes. */
export interface EncodedNodes {
  readonly rows: Float32Array;
  readonly width: number;
}

export abstract class Encoder extends Module {
  /** Returns one row per target of the graph, or per input without one. Inputs are a featurizer's result, or both kinds of rows. */
  abstract override forward(inputs: Tensor | NodeInputs, gnnGraph: LayerGraph | null, train: boolean): Tensor;

  /** Whether the result is the embeddings themselves. */
  get isIdentity(): boolean {
    return false;
  }

  /** Encodes all nodes in batches and leaves the result in the storage, for evaluation. */
  async encodeFullGraph(
    neighborSampler: TrainingNeighborSampler | null,
    graphStorage: GraphStorage,
  ): Promise<EncodedNodes> {
    const { numNodes } = graphStorage;
    const batchSize = nodesAtOnce(graphStorage);
    let all: Float32Array | null = null;
    let width = 0;
    this.eval();
    for (let start = 0; start < numNodes; start += batchSize) {
      const ids = range(start, Math.min(start + batchSize, numNodes));
      const graph = neighborSampler === null ? null : await neighborSampler.sampleAsync(ids, { step: 0 });
      const inputs = await readInputs(graphStorage, graph?.nodeIds ?? ids);
      graph?.performMap();
      const y = noGrad(() => scope(() => this.forward(tensorsOf(inputs, deviceOf(this)), graph, false)));
      width = y.shape[1];
      all ??= new Float32Array(numNodes * width);
      all.set((await y.contiguous().data()) as Float32Array, start * width);
      y.dispose();
    }
    const encoded = { rows: all ?? new Float32Array(0), width };
    graphStorage.setEncodedNodes(encoded.rows, encoded.width);
    return encoded;
  }
}

export interface GeneralEncoderOptions {
  readonly random: Random;
  /** For layers with relations; 0 by default. */
  readonly numRelations?: number;
  /** For TEXT layers; null, the default, without text. */
  readonly text?: TextSizes | null;
}

export class GeneralEncoder extends Encoder {
  readonly stages: readonly (readonly EncoderLayer[])[];
  /** Width of the result. */
  readonly outputDim: number;

  constructor(
    config: Pick<EncoderConfig, 'layers'> & Partial<EncoderConfig>,
    options: GeneralEncoderOptions,
  ) {
    super();
    checkOptionNames('GeneralEncoder', options, { random: true, numRelations: true, text: true });
    const context: LayerContext = {
      random: options.random,
      numRelations: options.numRelations ?? 0,
      incoming: config.use_incoming_nbrs ?? true,
      outgoing: config.use_outgoing_nbrs ?? true,
      text: options.text ?? null,
    };
    this.stages = makeStages(config.layers, context);
    const last = this.stages[this.stages.length - 1];
    if (last?.length !== 1)
      throw new ValueError(
        expected('GeneralEncoder', 'one layer in the last stage', 'layers', last?.length ?? 0),
      );
    this.outputDim = last[0].config.output_dim;
  }

  /** Stages that follow edges. */
  get numGnnStages(): number {
    return this.stages.filter(hasGnn).length;
  }

  override get isIdentity(): boolean {
    const [stage] = this.stages;
    const [layer] = stage;
    const only = this.stages.length === 1 && stage.length === 1;
    return only && layer instanceof InputLayer && layer.source === 'embeddings' && layer.isPlain;
  }

  override forward(given: Tensor | NodeInputs, gnnGraph: LayerGraph | null, train: boolean): Tensor {
    this.train(train);
    const inputs: NodeInputs = 'embeddings' in given ? given : { embeddings: given, features: null };
    gnnGraph?.performMap();
    let outputs: Tensor[] = [];
    let ids = (gnnGraph === null ? inputs.ids : gnnGraph.block().rowIds('src')) ?? null;
    for (const stage of this.stages) {
      const graph = hasGnn(stage) ? needGraph(gnnGraph) : null;
      const before = outputs;
      const blocks = graph === null ? [] : blocksOf(graph, hopsOf(stage));
      if (graph !== null) ids = blocks[blocks.length - 1].rowIds('dst');
      outputs = stage.map((layer, j) => {
        if (layer instanceof GnnLayer) return layer.forward(needGraph(graph), before[j], blocks);
        if (layer instanceof InputLayer) {
          const rows = sourceOf(layer, inputs);
          if (graph !== null) return layer.forward(graph.computedRows(rows), ids);
          return layer.forward(lastRows(rows, before[0]?.shape[0] ?? gnnGraph?.numRows ?? null), ids);
        }
        return apply(layer, before, ids);
      });
      if (graph !== null && graph.numLayers > 1) graph.prepareForNextLayer();
    }
    return outputs[0];
  }

  override async encodeFullGraph(
    neighborSampler: TrainingNeighborSampler | null,
    graphStorage: GraphStorage,
  ): Promise<EncodedNodes> {
    // A stage of several hops has no rows of all nodes between its hops.
    const alone = this.stages.every((stage) => hopsOf(stage) <= 1);
    if (neighborSampler !== null && !(alone && neighborSampler instanceof KHopNeighborSampler))
      return super.encodeFullGraph(neighborSampler, graphStorage);
    this.eval();
    let outputs: EncodedRows[] = [];
    let hop = this.numGnnStages;
    for (const [i, stage] of this.stages.entries()) {
      const sampler = hasGnn(stage) ? needSampler(neighborSampler).forLayer(--hop) : null;
      const isLast = i === this.stages.length - 1;
      outputs = await encodeStage(stage, outputs, { sampler, isLast, storage: graphStorage }, deviceOf(this));
    }
    const encoded = outputs[0] as MadeRows;
    graphStorage.setEncodedNodes(encoded.rows, encoded.width);
    return { rows: encoded.rows, width: encoded.width };
  }
}

/** Numbers of inputs that are in memory at a time. */
const inputNumbers = 2 ** 24;

/**
 * Returns the nodes that are encoded together: many where rows are in memory, because the neighbourhoods of several hops
 * overlap and are then computed once.
 */
function nodesAtOnce({ allResident, embeddings, features }: GraphStorage): number {
  const width = (embeddings?.width ?? 0) + (features?.width ?? 0);
  return allResident ? Math.max(1024, Math.floor(inputNumbers / Math.max(1, width))) : 1024;
}

interface StageContext {
  readonly sampler: TrainingNeighborSampler | null;
  readonly storage: GraphStorage;
  /** Whether its results are those of the encoder. */
  readonly isLast: boolean;
}

/** Computes one stage for all nodes, in batches of destinations. */
async function encodeStage(
  stage: readonly EncoderLayer[],
  before: readonly EncodedRows[],
  { sampler, storage, isLast }: StageContext,
  device: TensorDevice | null,
): Promise<EncodedRows[]> {
  const { numNodes } = storage;
  const batchSize = 4096;
  const outputs = stage.map((layer) =>
    layer instanceof InputLayer && !isLast && layer.source === 'features' && hasRandomAccess(storage.features)
      ? new InputRows(layer, storage.features)
      : new MadeRows(numNodes, layer.config.output_dim),
  );
  const made = stage.flatMap((layer, j) => {
    const output = outputs[j];
    return output instanceof MadeRows ? [{ layer, output, j }] : [];
  });
  if (made.length === 0) return outputs;
  const needsInput = made.some(({ layer }) => layer instanceof InputLayer);
  const needsOwn = made.some(({ layer }) => !(layer instanceof InputLayer || layer instanceof GnnLayer));
  for (let start = 0; start < numNodes; start += batchSize) {
    const ids = range(start, Math.min(start + batchSize, numNodes));
    const graph = sampler === null ? null : (await sampler.sampleAsync(ids, { step: 0 })).performMap();
    const read = needsInput ? await readInputs(storage, ids) : null;
    const own = await Promise.all(needsOwn ? before.map((table) => table.read(ids)) : []);
    const sampled = await Promise.all(
      made.map(({ layer, j }) =>
        layer instanceof GnnLayer ? before[j].read(needGraph(graph).nodeIds) : new Float32Array(0),
      ),
    );
    const results = noGrad(() =>
      scope(() => {
        const rows = own.map((values, j) => before[j].tensor(values, device));
        return made.map(({ layer, j }, k) => {
          if (layer instanceof GnnLayer)
            return layer.forward(needGraph(graph), before[j].tensor(sampled[k], device));
          if (layer instanceof InputLayer)
            return layer.forward(sourceOf(layer, tensorsOf(read as RawInputs, device))).contiguous();
          return apply(layer, rows);
        });
      }),
    );
    for (const [k, y] of results.entries()) {
      await made[k].output.put(start, y);
      y.dispose();
    }
  }
  return outputs;
}

function makeStages(layers: readonly (readonly LayerConfig[])[], context: LayerContext): EncoderLayer[][] {
  const offsets = { EMBEDDING: 0, FEATURE: 0 };
  return layers.map((stage) =>
    stage.map((config) => {
      if (config.type !== 'EMBEDDING' && config.type !== 'FEATURE') return newLayer(config, 0, context);
      const layer = newLayer(config, offsets[config.type], context);
      // Every embedding layer has separate columns; all feature layers have the same ones.
      if (config.type === 'EMBEDDING') offsets.EMBEDDING += config.output_dim;
      return layer;
    }),
  );
}

/** Returns the hops of a stage; 0 without graph layers. */
function hopsOf(stage: readonly EncoderLayer[]): number {
  return Math.max(0, ...stage.map((layer) => (layer instanceof GnnLayer ? layer.hops : 0)));
}

/** Returns the blocks of a stage and leaves the graph at the last of them. */
function blocksOf(graph: LayerGraph, hops: number): MessageGraph[] {
  return Array.from({ length: hops }, (_, hop) => {
    if (hop > 0) graph.prepareForNextLayer();
    return graph.block();
  });
}

function hasGnn(stage: readonly EncoderLayer[]): boolean {
  return stage.some((layer) => layer instanceof GnnLayer);
}

/** Applies a layer that reads all outputs of the previous stage. */
function apply(layer: EncoderLayer, before: readonly Tensor[], rowIds: Int32Array | null = null): Tensor {
  return (layer as DenseLayer | ReductionLayer).forward(before, rowIds);
}

/** Returns the rows of nodes that later stages use; rows of farther hops come first and are dropped. */
function lastRows(x: Tensor, count: number | null): Tensor {
  return count === null || x.shape[0] === count ? x : slice(x, x.shape[0] - count);
}

function sourceOf(layer: InputLayer, inputs: NodeInputs): Tensor {
  const { text = null, ids = null } = inputs;
  if (layer instanceof TextLayer && text !== null) return layer.encode(text, ids);
  const rows = layer.source === 'text' ? null : inputs[layer.source];
  if (rows === null)
    throw new StateError(
      `GeneralEncoder: expected ${layer.source} for a ${layer.config.type} layer, got none.`,
    );
  return rows;
}

function needGraph<G extends LayerGraph>(graph: G | null): G {
  if (graph === null)
    throw new StateError('GeneralEncoder: expected a sampled graph for its GNN layers, got none.');
  return graph;
}

function needSampler(sampler: KHopNeighborSampler | null): KHopNeighborSampler {
  if (sampler === null)
    throw new StateError(
      'GeneralEncoder.encodeFullGraph: expected a neighbour sampler for its GNN layers, got none.',
    );
  return sampler;
}

interface RawInputs {
  readonly embeddings: EncodedNodes | null;
  readonly features: EncodedNodes | null;
  readonly text: TextRows | null;
}

async function readInputs(storage: GraphStorage, ids: Int32Array): Promise<RawInputs> {
  const { embeddings, features, text } = storage;
  return {
    embeddings: embeddings === null ? null : { rows: await embeddings.gather(ids), width: embeddings.width },
    features: features === null ? null : { rows: await features.gather(ids), width: features.width },
    text: text === null ? null : gatherText(text, ids),
  };
}

/** Returns the device of an encoder's parameters. */
function deviceOf(encoder: Encoder): TensorDevice | null {
  return encoder.parameters()[0]?.device ?? null;
}

function tensorsOf(inputs: RawInputs, device: TensorDevice | null): NodeInputs {
  const toTensor = (table: EncodedNodes | null): Tensor | null => {
    if (table === null) return null;
    const rows = fromTypedArray(table.rows, [table.rows.length / table.width, table.width]);
    return device === null ? rows : rows.to(device);
  };
  return { embeddings: toTensor(inputs.embeddings), features: toTensor(inputs.features), text: inputs.text };
}

function range(start: number, end: number): Int32Array {
  return Int32Array.from({ length: end - start }, (_, i) => start + i);
}
