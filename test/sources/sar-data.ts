/**
 * The graph of SAR's programs (sar-*.test.ts): a test writes it as DGL's partition files, workers load them. The whole graph with
 * the ids that partitioning gives is the same on all workers and is what results are compared with.
 */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Communicator,
  loadDglPartitionData,
  type PartitionData,
  type PartitionedGraph,
  partitionData,
  partitionGraph,
} from 'skein/dist';
import { SAGEConv } from 'skein/gnn';
import { Graph, type MessageGraph } from 'skein/graph';
import { Module } from 'skein/nn';
import { fromTypedArray, manualSeed, type Tensor } from 'skein/tensor';
import { Random } from 'skein/util';
import { writeDglPartitions } from '../dist/dgl-writer.js';

const numNodes = 160;
export const width = 100;
const classes = 4;

const random = new Random(11);
const draw = (count: number, below: number): Int32Array =>
  Int32Array.from({ length: count }, () => random.nextInt(below));
/** Some nodes have no edges, some edges are loops or repeats. */
const src = draw(900, numNodes - 10);
const dst = draw(900, numNodes - 5);
const labelOf = draw(numNodes, classes);
const rows = Float32Array.from({ length: numNodes * width }, (_, i) => {
  const [node, column] = [Math.floor(i / width), i % width];
  return (column % classes === labelOf[node] ? 0.2 : 0) + 0.2 * random.nextFloat();
});
const edgeRows = Float32Array.from({ length: 900 }, (_, e) => 0.5 + (e % 7) / 8);

function split(parts: number): PartitionedGraph {
  const graph = Graph.fromEdges(src, dst, { numNodes });
  const mask = (rest: number): Tensor =>
    fromTypedArray(Uint8Array.from({ length: numNodes }, (_, v) => (v % 3 === rest ? 1 : 0)));
  return partitionData(graph, partitionGraph(graph, { parts, algorithm: 'random', seed: 3 }), {
    nodeFeatures: {
      features: fromTypedArray(rows, [numNodes, width]),
      labels: fromTypedArray(labelOf),
      ...{ train_mask: mask(0), val_mask: mask(1), test_mask: mask(2) },
    },
    edgeFeatures: { weight: fromTypedArray(edgeRows) },
  });
}

const fileOf = (folder: string, parts: number): string => join(folder, String(parts), 'fixture.json');

/** Writes the files for a number of workers, as DGL's `partition_graph` does. */
export function writeFiles(folder: string, parts: number): void {
  mkdirSync(join(folder, String(parts)), { recursive: true });
  writeDglPartitions(join(folder, String(parts)), split(parts));
}

export interface Loaded {
  readonly jsonFile: string;
  readonly partitionData: PartitionData;
  /** The graph of all workers, by global ids, and the features of all nodes. */
  readonly whole: Graph;
  readonly allFeatures: Tensor;
  /** Global ids of this worker's nodes begin here and end before `end`. */
  readonly first: number;
  readonly end: number;
}

/** Loads this worker's partition, and remakes the whole graph. `SKEIN_TEST_SAR` is the folder of `writeFiles`. */
export async function load({ rank, size }: Communicator): Promise<Loaded> {
  const jsonFile = fileOf(process.env['SKEIN_TEST_SAR'] as string, size);
  const device = 'cpu';
  // partition_data = sar.load_dgl_partition_data(json_file, rank, device)
  const loaded = await loadDglPartitionData(jsonFile, rank, device);
  const { originalNodeIds, originalEdgeIds, globalNodeIds } = withIds(split(size));
  const whole = Graph.fromEdges(
    originalEdgeIds.map((e) => globalNodeIds[src[e]]),
    originalEdgeIds.map((e) => globalNodeIds[dst[e]]),
    { numNodes },
  );
  whole.edata.weight = fromTypedArray(Float32Array.from(originalEdgeIds, (e) => edgeRows[e]));
  const byId = Float32Array.from(
    rows,
    (_, i) => rows[originalNodeIds[Math.floor(i / width)] * width + (i % width)],
  );
  const { start: first, end } = loaded.nodeRanges[rank];
  return {
    ...{ jsonFile, partitionData: loaded, whole, first, end },
    allFeatures: fromTypedArray(byId, [numNodes, width]),
  };
}

const withIds = (parts: PartitionedGraph) => ({
  originalNodeIds: parts.originalNodeIds,
  originalEdgeIds: parts.originalEdgeIds,
  globalNodeIds: parts.globalNodeIds(),
});

/** class GNNModel(nn.Module) of the document. */
export class GNNModel extends Module {
  readonly convs: readonly SAGEConv[];

  // def __init__(n_layers: int)
  constructor(nLayers: number) {
    super();
    manualSeed(8);
    // self.convs = nn.ModuleList([dgl.nn.SAGEConv(100, 100) for _ in range(n_layers)])
    this.convs = Array.from({ length: nLayers }, () => new SAGEConv(100, 100));
  }

  // def forward(blocks: List[sar.GraphShardManager], features: torch.Tensor)
  forward(blocks: readonly MessageGraph[], features: Tensor): Tensor {
    let h = features;
    // for idx in range(len(self.convs)): features = self.convs[idx](blocks[idx], features)
    for (const [idx, conv] of this.convs.entries()) h = conv.forward(blocks[idx], h);
    return h;
  }

  // def full_graph_inference(graph: sar.GraphShardManager, featues: torch.Tensor)
  fullGraphInference(graph: MessageGraph, features: Tensor): Tensor {
    let h = features;
    for (const layer of this.convs) h = layer.forward(graph, h); // for idx, layer in enumerate(self.convs)
    return h;
  }
}

/** Asserts that rows are those of `ids` in `all`, up to rounding. */
export function assertRows(got: Tensor, all: Tensor, ids: ArrayLike<number>): void {
  const columns = all.shape[1] ?? 1;
  assert.equal(got.shape[0], ids.length);
  const [a, b] = [got.dataSync(), all.dataSync()];
  let scale = 1e-6;
  for (const value of b) scale = Math.max(scale, Math.abs(value));
  for (let i = 0; i < ids.length; i++)
    for (let k = 0; k < columns; k++) {
      const [x, y] = [a[i * columns + k], b[ids[i] * columns + k]];
      assert.ok(Math.abs(x - y) <= 1e-4 * scale, `row ${i}, column ${k}: ${x} and ${y}`);
    }
}

export const range = (first: number, end: number): Int32Array =>
  Int32Array.from({ length: end - first }, (_, i) => first + i);
