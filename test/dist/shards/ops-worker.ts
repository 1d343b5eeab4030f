/**
 * One rank of the comparison of operations: every case in every mode, on several graphs and partitions. Prints a JSON line
 * for what differs, and one at the end with the number of comparisons.
 */
import { constructFullGraph, type DistributedGraph, openCommunicator } from 'skein/dist';
import { scope } from 'skein/tensor';
import { compareCase } from './compare.js';
import { groupedGraph, mixedGraph, type PartitionKind, partsOf } from './graphs.js';
import { opCases } from './op-cases.js';
import { partitionGraph } from './partitioned.js';

const comm = openCommunicator({ timeout: 60, peerTimeout: 20 });
const only = process.argv[2] ?? '';
const say = (fields: object) => process.stdout.write(`${JSON.stringify({ rank: comm.rank, ...fields })}\n`);

const scenes = [
  { graph: mixedGraph(50, 300, true), parts: 'random' },
  { graph: mixedGraph(23, 40, true), parts: 'gap' },
  { graph: groupedGraph(60, 240), parts: 'ranges' },
] as const;

let done = 0;
for (const [scene, { graph, parts }] of scenes.entries()) {
  const kind: PartitionKind = parts;
  const { pd, nodes, edges } = partitionGraph(
    graph,
    partsOf(kind, graph.numNodes, comm.size),
    comm.size,
    comm.rank,
  );
  const weight = graph.edgeWeight === null ? {} : { edgeWeight: 'weight' };
  const depth = scene % 3;
  const modes: Readonly<Record<string, () => DistributedGraph>> = {
    sar: () => constructFullGraph(pd, { comm, mode: 'sar', pipelineDepth: depth, windowRows: 3, ...weight }),
    sa: () =>
      constructFullGraph(pd, { comm, mode: 'sa', pipelineDepth: 2 - depth, windowRows: 5, ...weight }),
    'one-shot': () => constructFullGraph(pd, { comm, ...weight }).getFullPartitionGraph(),
    'one-shot in pieces': () =>
      constructFullGraph(pd, { comm, maxCollectiveSize: 200, ...weight }).getFullPartitionGraph(),
  };
  for (const [mode, make] of Object.entries(modes)) {
    const part = make();
    for (const each of opCases.filter(({ name }) => name.includes(only))) {
      for (const [dtype, tolerance] of [
        ['f64', 1e-10],
        ['f32', 1e-5],
      ] as const) {
        const where = { comm, nodes: nodes._N, edges: edges._E };
        try {
          const problems = scope(() => compareCase(each, graph, part, where, dtype, tolerance));
          for (const problem of problems) say({ scene, mode, dtype, name: each.name, problem });
        } catch (error) {
          comm.abort(`${each.name}, ${mode}, ${dtype}, scene ${scene}: ${(error as Error).stack}`);
        }
        done++;
      }
    }
  }
}
say({ done });
comm.close();
