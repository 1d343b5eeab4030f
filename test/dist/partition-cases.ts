/**
 * Cases with partition directories that all ranks run together: from files to messages that equal those on one machine.
 */
import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Communicator,
  constructFullGraph,
  loadDglPartitionData,
  loadPartitionData,
  type PartitionData,
  partitionData,
  partitionGraph,
  suffixKeyLookup,
  writePartitions,
} from 'skein/dist';
import { fn } from 'skein/graph';
import type { CommCase } from './communicator-contract.js';
import { writeDglPartitions } from './dgl-writer.js';
import { randomGraph, randomHetero } from './partition-fixtures.js';

/** A directory that rank 0 makes and fills, known to all. */
async function withDirectory<T>(
  comm: Communicator,
  fill: (directory: string) => Promise<unknown>,
  use: (directory: string) => Promise<T>,
): Promise<T> {
  const name = new Uint8Array(512);
  if (comm.rank === 0) {
    const directory = mkdtempSync(join(tmpdir(), 'skein-partition-case-'));
    await fill(directory);
    new TextEncoder().encodeInto(directory, name);
  }
  comm.broadcast(name);
  const directory = new TextDecoder().decode(name.subarray(0, name.indexOf(0)));
  try {
    return await use(directory);
  } finally {
    comm.barrier();
    if (comm.rank === 0) rmSync(directory, { recursive: true, force: true });
  }
}

function sumOfAll(comm: Communicator, values: readonly number[]): number[] {
  const sums = Float64Array.from(values);
  comm.allReduce(sums);
  return [...sums];
}

/** Checks that sums of neighbours' features equal those of the whole graph, row by row in original ids. */
function checkMessages(comm: Communicator, data: PartitionData, originalIds: Int32Array): void {
  const whole = randomGraph();
  whole.updateAll(fn.copyU('features', 'm'), fn.sum('m', 'y'));
  const want = whole.ndata.y.dataSync();
  const own = constructFullGraph(data, { comm });
  own.ndata.features = suffixKeyLookup(data.nodeFeatures, 'features');
  own.updateAll(fn.copyU('features', 'm'), fn.sum('m', 'y'));
  const got = own.ndata.y.dataSync();
  originalIds.forEach((id, row) => {
    for (let c = 0; c < 3; c++) {
      const [a, b] = [got[row * 3 + c], want[id * 3 + c]];
      assert(Math.abs(a - b) <= 1e-5 * Math.max(1, Math.abs(b)), `node ${id}: ${a} instead of ${b}`);
    }
  });
  assert.deepEqual(sumOfAll(comm, [own.numDstNodes, own.numEdges]), [200, 900]);
}

function homogeneous() {
  const graph = randomGraph();
  return partitionData(graph, partitionGraph(graph, { parts: 5, algorithm: 'ldg' }));
}

export const partitionCases: readonly CommCase[] = [
  {
    name: 'our files, more partitions than workers: messages as on one machine',
    run: (comm) =>
      withDirectory(
        comm,
        (directory) => writePartitions(directory, homogeneous()),
        async (directory) => {
          const data = await loadPartitionData(directory, { comm });
          checkMessages(comm, data, data.originalNodeIds as Int32Array);
        },
      ),
  },
  {
    name: "DGL's files: the same",
    run: (comm) =>
      withDirectory(
        comm,
        async (directory) => writeDglPartitions(directory, homogeneous()),
        async (directory) => {
          const data = await loadDglPartitionData(join(directory, 'fixture.json'), { comm });
          const { start, end } = data.nodeRanges[comm.rank];
          checkMessages(comm, data, homogeneous().originalNodeIds.subarray(start, end));
        },
      ),
  },
  {
    name: 'in memory: every node and edge of every type is with one worker',
    run: async (comm) => {
      const graph = randomHetero();
      const split = partitionData(graph, partitionGraph(graph, { parts: 5, algorithm: 'random' }));
      const data = split.forWorker(comm.rank, comm.size);
      const nodes = data.nodeTypeNames.map(
        (_, t) => data.nodeTypes?.filter((type) => type === t).length ?? 0,
      );
      const edges = data.edgeTypeNames.map((_, t) =>
        data.allShardEdges.reduce(
          (sum, { edgeTypes }) => sum + (edgeTypes?.filter((e) => e === t).length ?? 0),
          0,
        ),
      );
      const types = graph.nodeTypes.map((type) => graph.numNodes(type));
      assert.deepEqual(sumOfAll(comm, nodes), types);
      const relations = graph.edgeTypes.map((type) => graph.numEdges(type));
      assert.deepEqual(sumOfAll(comm, edges), relations);
    },
  },
];
