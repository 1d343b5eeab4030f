/**
 * One rank of the comparison of layers: each, in two steps, in every mode, against one machine. The value that gradients are
 * taken of is a sum over some nodes only, none of them on the last worker.
 */
import {
  constructFullGraph,
  constructMfgs,
  type DistributedGraph,
  openCommunicator,
  type PartitionData,
} from 'skein/dist';
import type { Graph } from 'skein/graph';
import type { Module } from 'skein/nn';
import {
  backward,
  type FloatDType,
  fromTypedArray,
  gatherRows,
  manualSeed,
  mul,
  scope,
  sum,
} from 'skein/tensor';
import { Random } from 'skein/util';
import { difference, pick } from './compare.js';
import { groupedGraph, mixedGraph, partsOf } from './graphs.js';
import { edgeDim, type LayerCase, layerCases, relations, type Step, width } from './layer-cases.js';
import { partitionGraph } from './partitioned.js';

type Floats = Float32Array | Float64Array;

const comm = openCommunicator({ timeout: 60, peerTimeout: 20 });
const only = process.argv[2] ?? '';
const say = (fields: object) => process.stdout.write(`${JSON.stringify({ rank: comm.rank, ...fields })}\n`);

function noise(seed: number, size: number, dtype: FloatDType): Floats {
  const random = new Random(seed);
  const all = dtype === 'f32' ? new Float32Array(size) : new Float64Array(size);
  for (let i = 0; i < size; i++) all[i] = Math.fround(random.nextFloat() * 2 - 1);
  return all;
}

/** Result rows of `seeds` (original ids), and the gradients of x and of all parameters. */
interface Outcome {
  readonly y: Floats;
  readonly gx: Floats;
  readonly gradients: ReadonlyMap<string, Floats>;
}

interface Data {
  readonly x: Floats;
  readonly attr: Floats;
  readonly type: Int32Array;
  readonly factors: Floats;
}

function outcome(
  each: LayerCase,
  dtype: FloatDType,
  steps: readonly [Step, Step],
  x: Floats,
  rows: Int32Array,
  factors: Floats,
): Outcome {
  manualSeed(3);
  const layer: Module = each.make(dtype);
  const input = fromTypedArray(x, [x.length / width, width]).setRequiresGrad();
  const all = each.run(layer, steps, input);
  const y = gatherRows(all, rows);
  backward(sum(mul(y, fromTypedArray(factors, y.shape))));
  const gradients = new Map<string, Floats>();
  for (const [name, p] of layer.namedParameters())
    gradients.set(name, (p.grad?.dataSync() ?? new Float64Array(p.size)).slice() as Floats);
  return {
    y: y.dataSync().slice() as Floats,
    gx: (input.grad?.dataSync() ?? x.map(() => 0)).slice() as Floats,
    gradients,
  };
}

function step(graph: Step['graph'], edges: Int32Array, { attr, type }: Data): Step {
  const rows = pick(attr, edges, edgeDim);
  return {
    graph,
    attr: fromTypedArray(rows, [edges.length, edgeDim]),
    type: edges.map((e) => type[e]),
  };
}

/** The two steps of each mode, the original nodes of the first's sources, and the rows of the second's results that count. */
interface Mode {
  readonly steps: readonly [DistributedGraph, DistributedGraph];
  readonly sources: Int32Array;
  readonly rows: Int32Array;
}

function modes(
  pd: PartitionData,
  nodes: Int32Array,
  seeds: Int32Array,
  weighted: boolean,
): Record<string, () => Mode> {
  const { start } = pd.nodeRanges[comm.rank];
  const weight = weighted ? { edgeWeight: 'weight' } : {};
  const ids = seeds.map((row) => row + start);
  const whole = (graph: DistributedGraph): Mode => ({ steps: [graph, graph], sources: nodes, rows: seeds });
  const blocks = (list: readonly DistributedGraph[]): Mode => ({
    steps: [list[0], list[1]],
    sources: list[0].inputNodes.map((id) => nodes[id - start]),
    rows: seeds.map((_, i) => i),
  });
  const mfgs = (mode: 'sar' | 'sa') => constructMfgs(pd, ids, 2, true, { comm, mode, ...weight });
  return {
    sar: () => whole(constructFullGraph(pd, { comm, pipelineDepth: 0, windowRows: 2, ...weight })),
    sa: () => whole(constructFullGraph(pd, { comm, mode: 'sa', ...weight })),
    'one-shot': () => whole(constructFullGraph(pd, { comm, ...weight }).getFullPartitionGraph()),
    'mfg sar': () => blocks(mfgs('sar')),
    'mfg sa': () => blocks(mfgs('sa')),
    'mfg one-shot': () => blocks(mfgs('sar').map((graph) => graph.getFullPartitionGraph())),
  };
}

/** Compares a mode with one machine; returns the differences. */
function compare(
  each: LayerCase,
  dtype: FloatDType,
  data: Data,
  mode: Mode,
  own: Int32Array,
  want: Outcome,
  seedPlaces: Int32Array,
): string[] {
  const edgesOf = (graph: DistributedGraph): Int32Array => graph.parentEdgeIds?.map((e) => own[e]) ?? own;
  const steps = mode.steps.map((graph) => step(graph, edgesOf(graph), data)) as [Step, Step];
  const x = pick(data.x, mode.sources, width);
  const got = outcome(each, dtype, steps, x, mode.rows, pick(data.factors, seedPlaces, width));
  const problems: string[] = [];
  const tolerance = dtype === 'f64' ? 1e-10 : 1e-5;
  const check = (what: string, a: Floats, b: Floats): void => {
    const d = difference(a, b);
    if (!(d <= tolerance)) problems.push(`${what} differs by ${d}`);
  };
  check('the result', got.y, pick(want.y, seedPlaces, width));
  check('the gradient of x', got.gx, pick(want.gx, mode.sources, width));
  for (const [name, g] of got.gradients) {
    comm.allReduce(g);
    check(`the gradient of ${name}`, g, want.gradients.get(name) as Floats);
  }
  return problems;
}

/** Every third node, but none of the last worker's. */
function seedsOf(parts: Int32Array): number[] {
  const last = comm.size > 1 ? comm.size - 1 : -1;
  return [...parts.keys()].filter((v) => v % 3 === 0 && parts[v] !== last);
}

let done = 0;
const scenes: readonly { graph: Graph; parts: 'random' | 'gap' | 'ranges' }[] = [
  { graph: mixedGraph(40, 220, true), parts: 'random' },
  { graph: mixedGraph(17, 30, true), parts: 'gap' },
  { graph: groupedGraph(44, 150), parts: 'ranges' },
];
for (const [scene, { graph, parts: kind }] of scenes.entries()) {
  const parts = partsOf(kind, graph.numNodes, comm.size);
  const { pd, nodes, edges } = partitionGraph(graph, parts, comm.size, comm.rank);
  const seeds = Int32Array.from(seedsOf(parts));
  const places = Int32Array.from([...seeds.keys()].filter((i) => parts[seeds[i]] === comm.rank));
  const ownSeeds = places.map((i) => nodes._N.indexOf(seeds[i]));
  const list = Object.entries(modes(pd, nodes._N, ownSeeds, graph.edgeWeight !== null));
  const made = list.map(([name, make]) => [name, make()] as const);
  const type = Int32Array.from({ length: graph.numEdges }, (_, e) => (e * 7) % relations);
  const all = Int32Array.from({ length: graph.numEdges }, (_, e) => e);
  for (const each of layerCases.filter(({ name }) => name.includes(only))) {
    for (const dtype of ['f64', 'f32'] as const) {
      const data: Data = {
        x: noise(1, graph.numNodes * width, dtype),
        attr: noise(2, graph.numEdges * edgeDim, dtype),
        factors: noise(3, seeds.length * width, dtype),
        type,
      };
      const one = step(graph, all, data);
      const want = scope(() => outcome(each, dtype, [one, one], data.x, seeds, data.factors));
      for (const [mode, each2] of made) {
        try {
          const problems = scope(() => compare(each, dtype, data, each2, edges._E, want, places));
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
