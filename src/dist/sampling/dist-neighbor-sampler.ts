/**
 * Neighbour sampling over a partitioned graph (as SAR's `DistNeighborSampler`): seeds are nodes of this worker, the
 * samples are ordinary local blocks with the features of their nodes, whichever worker owns them.
 *
 * A node's owner draws its neighbours, with the same random numbers as `NeighborSampler`: the neighbours of a node
 * depend only on (seed, epoch, step, hop, node), so the blocks are those of the whole graph on one machine, for any
 * number of workers. `sample` is collective: all workers call it equally often, with empty seeds if they have none.
 *
 * @example
 * const sampler = new DistNeighborSampler([15, 10, 5], {
 *   inputNodeFeatures: { features }, // rows of this worker's nodes: srcdata of the first block
 *   outputNodeFeatures: { labels }, // dstdata of the last block
 * });
 * const blocks = sampler.sample(graph, seeds, { epoch: 0, step: 3 });
 */
import type { Block } from '../../graph/index.js';
import { Batch } from '../../sample/batch.js';
import { checkFlag } from '../../sample/checks.js';
import { checkFanouts } from '../../sample/neighbor-sampler.js';
import { DrawKeys, purposes, type SampleTime } from '../../sample/sampler.js';
import { type Ids, slice, Tensor } from '../../tensor/index.js';
import { checkIds } from '../../tensor/ops/common.js';
import { unscoped } from '../../tensor/scope.js';
import { iota } from '../../util/arrays.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { copyBytes } from '../comm/comm-checks.js';
import type { CommHandle, ReduceArray } from '../comm/communicator.js';
import { concatArrays } from './arrays.js';
import { type Sampleable, samplingGraph } from './convert-dist-graph.js';
import type { DistGraph, NodeFeatureTable } from './dist-graph.js';
import { drawLocally, exchangeHop, type HopResult, type RequestedHop } from './hop-exchange.js';
import { IdRows } from './id-rows.js';
import type { EdgeField } from './in-edges.js';

/** Rows of this worker's nodes, or a table that is already open (`distFeatures`). */
export type NodeFeatureSource = Tensor | NodeFeatureTable;

export interface DistNeighborSamplerOptions {
  /** An edge field with the relative probability of each edge of a node. 'weight' are the message weights. */
  readonly prob?: string;
  readonly replace?: boolean;
  /** Edge fields that blocks get as edata: all (default), none, or those named. */
  readonly copyEdata?: boolean | readonly string[];
  /** srcdata of the first block. */
  readonly inputNodeFeatures?: Readonly<Record<string, NodeFeatureSource>>;
  /** dstdata of the last block. */
  readonly outputNodeFeatures?: Readonly<Record<string, NodeFeatureSource>>;
  /** Number of rows of other workers' nodes to cache, for each input feature (default 0). */
  readonly cacheRows?: number;
  readonly seed?: number;
}

const name = 'DistNeighborSampler';

type Tables = Readonly<Record<'input' | 'output', readonly (readonly [string, NodeFeatureTable])[]>>;

export class DistNeighborSampler {
  /** Neighbours per node and hop, the hop next to the seeds first; −1 = all. */
  readonly fanouts: readonly number[];
  readonly #options: DistNeighborSamplerOptions;
  readonly #replace: boolean;
  readonly #keys: DrawKeys;
  readonly #tables = new WeakMap<DistGraph, Tables>();

  constructor(fanouts: readonly number[], options: DistNeighborSamplerOptions = {}) {
    checkOptionNames('DistNeighborSampler', options, {
      prob: true,
      replace: true,
      copyEdata: true,
      inputNodeFeatures: true,
      outputNodeFeatures: true,
      cacheRows: true,
      seed: true,
    });
    this.fanouts = Array.from(checkFanouts(name, fanouts));
    if (this.fanouts.length === 0)
      throw new ValueError(
        expected(name, 'at least one hop', 'fanouts', fanouts, 'Give a number for each layer of the model.'),
      );
    this.#options = options;
    this.#replace = checkFlag(name, 'replace', options.replace, false);
    this.#keys = new DrawKeys(name, options.seed ?? 0, purposes.neighbors);
  }

  /** Returns the blocks of a batch, the outermost first. `seeds` are global ids of nodes of this worker. */
  sample(graph: Sampleable, seeds: Ids, at?: SampleTime): readonly Block[] {
    return this.start(graph, seeds, at).finish();
  }

  /** Samples, and starts to fetch features; `finish` waits for them. */
  start(whole: Sampleable, seeds: Ids, at: SampleTime = { step: 0 }): PendingSample {
    const graph = samplingGraph(whole);
    const ids = checkIds(name, 'seeds', seeds, graph.numNodes);
    const { start, end } = graph.nodeRange;
    const foreign = ids.find((id) => id < start || id >= end);
    if (foreign !== undefined)
      throw new ValueError(
        expected(
          name,
          `nodes of this worker (${start} … ${end - 1})`,
          'seeds',
          foreign,
          'Sample each node on the worker that owns it.',
        ),
      );
    const fields = this.#fields(graph);
    const sampled = this.#sampleHops(graph, ids, at, fields);
    const { input, output } = this.#open(graph);
    const { batch } = sampled;
    return new PendingSample(batch, fields, sampled.rows, {
      input: input.map(([key, table]) => fetch(key, table, batch.nodeIds)),
      output: output.map(([key, table]) => fetch(key, table, batch.nodeIds.subarray(0, batch.numSeeds))),
    });
  }

  #fields(graph: DistGraph): readonly EdgeField[] {
    const wanted = this.#options.copyEdata ?? true;
    if (typeof wanted === 'boolean') return wanted ? graph.edges.fields : [];
    return wanted.map((key) => {
      const field = graph.edges.fields.find((other) => other.name === key);
      if (field !== undefined) return field;
      const known = graph.edges.fields.map((other) => other.name).join(', ') || 'none';
      throw new ValueError(expected(name, 'names of edge fields', 'copyEdata', key, `There are: ${known}.`));
    });
  }

  #sampleHops(graph: DistGraph, seeds: Int32Array, at: SampleTime, fields: readonly EdgeField[]) {
    const rows = new IdRows();
    const seedRows = rows.add(seeds);
    const hops: HopResult[] = [];
    const indices: Int32Array[] = [];
    const nodesPerHop = [rows.count];
    let begin = 0;
    for (const [hop, fanout] of this.fanouts.entries()) {
      const frontier = rows.from(begin);
      begin = rows.count;
      const { prob = null } = this.#options;
      const draw: RequestedHop = { keys: this.#keys, fanout, hop, replace: this.#replace, prob, fields };
      // Seeds are nodes of this worker, so the first hop needs no messages.
      const drawn =
        hop === 0 ? drawLocally(graph, draw, frontier, at) : exchangeHop(graph, draw, frontier, at);
      indices.push(rows.add(drawn.sources));
      hops.push(drawn);
      nodesPerHop.push(rows.count - begin);
    }
    const offsets = joinOffsets(hops);
    const slots = iota(offsets[offsets.length - 1]);
    const edgeIds = concatArrays(hops.map((hop) => hop.edgeIds));
    const weights =
      graph.edges.weights === null ? null : concatArrays(hops.map((hop) => hop.weights as Float32Array));
    const batch = new Batch(
      {
        ...{ nodeIds: rows.from(0), seedRows, trees: null, offsets, indices: concatArrays(indices), slots },
        ...{ nodesPerHop, edgesPerHop: hops.map((hop) => hop.sources.length) },
      },
      {
        edgeIds: (places) => places.map((i) => edgeIds[i]),
        weightsOf: (places) => (weights === null ? null : Float32Array.from(places, (i) => weights[i])),
        graph,
      },
    );
    return { batch, rows: fields.map((_, f) => concatArrays(hops.map((hop) => hop.fields[f]))) };
  }

  /** Returns the tables of the features, opened when a graph is first sampled. */
  #open(graph: DistGraph): Tables {
    let tables = this.#tables.get(graph);
    if (tables === undefined) {
      const { inputNodeFeatures = {}, outputNodeFeatures = {}, cacheRows = 0 } = this.#options;
      const open = (features: Readonly<Record<string, NodeFeatureSource>>, cache: number) =>
        Object.entries(features).map(
          ([key, rows]) =>
            [key, rows instanceof Tensor ? graph.openTable(key, rows, { cacheRows: cache }) : rows] as const,
        );
      tables = { input: open(inputNodeFeatures, cacheRows), output: open(outputNodeFeatures, 0) };
      this.#tables.set(graph, tables);
    }
    return tables;
  }
}

interface Fetched {
  readonly key: string;
  readonly rows: Tensor;
  readonly handle: CommHandle;
}

function fetch(key: string, { store, shape, data }: NodeFeatureTable, ids: Int32Array): Fetched {
  const rows = unscoped(() => Tensor.allocate(data.dtype, [ids.length, ...shape]));
  return { key, rows, handle: store.startGather(ids, rows.dataSync<ReduceArray>()) };
}

/** A batch whose features may still be in flight. */
export class PendingSample {
  readonly batch: Batch;
  readonly #fields: readonly EdgeField[];
  readonly #edgeRows: readonly Int32Array[];
  readonly #fetched: Readonly<Record<'input' | 'output', readonly Fetched[]>>;
  #blocks: readonly Block[] | null = null;

  /** @internal Created by `DistNeighborSampler.start`. */
  constructor(
    batch: Batch,
    fields: readonly EdgeField[],
    edgeRows: readonly Int32Array[],
    fetched: Readonly<Record<'input' | 'output', readonly Fetched[]>>,
  ) {
    this.batch = batch;
    this.#fields = fields;
    this.#edgeRows = edgeRows;
    this.#fetched = fetched;
  }

  /** Waits for the features and returns the blocks. */
  finish(): readonly Block[] {
    if (this.#blocks !== null) return this.#blocks;
    const { input, output } = this.#fetched;
    for (const { handle } of [...input, ...output]) handle.wait();
    const { blocks } = this.batch;
    const first = blocks[0];
    const last = blocks[blocks.length - 1];
    for (const { key, rows } of input) if (first !== undefined) first.srcdata[key] = rows;
    for (const { key, rows } of output) if (last !== undefined) last.dstdata[key] = rows;
    for (const [f, field] of this.#fields.entries()) addEdgeField(blocks, field, this.#edgeRows[f]);
    this.#blocks = blocks;
    return blocks;
  }

  /** Releases the memory of the features; the batch must not be used afterwards. */
  recycle(): void {
    const { input, output } = this.#fetched;
    for (const { handle, rows } of [...input, ...output]) {
      handle.wait();
      rows.dispose();
    }
  }
}

/** Adds an edge field. The edges of a block are the first of the batch's, so each block gets the first rows. */
function addEdgeField(
  blocks: readonly Block[],
  { name: key, dtype, shape, width }: EdgeField,
  words: Int32Array,
): void {
  const edges = words.length / width;
  const rows = unscoped(() => Tensor.allocate(dtype, [edges, ...shape]));
  copyBytes(words, rows.dataSync<ReduceArray>());
  for (const block of blocks)
    block.edata[key] = block.numEdges === edges ? rows : unscoped(() => slice(rows, 0, block.numEdges));
}

function joinOffsets(hops: readonly HopResult[]): Int32Array {
  const offsets = new Int32Array(1 + hops.reduce((sum, hop) => sum + hop.offsets.length - 1, 0));
  let row = 0;
  let edge = 0;
  for (const hop of hops) {
    for (let i = 1; i < hop.offsets.length; i++) offsets[++row] = edge + hop.offsets[i];
    edge += hop.sources.length;
  }
  return offsets;
}
