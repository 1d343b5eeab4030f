/**
 * One rank of the comparison on graphs of several types: layers for them in every mode against one machine, and what graphs
 * say of themselves (counts, degrees, scopes).
 */
import {
  constructHeteroGraph,
  constructHeteroMfgs,
  type HeteroDistributedGraph,
  openCommunicator,
} from 'skein/dist';
import { GATConv, GCNConv, GraphConv, HeteroConv, HGTConv, SAGEConv } from 'skein/gnn';
import { fn, HeteroGraph } from 'skein/graph';
import type { Module } from 'skein/nn';
import {
  add,
  backward,
  type FloatDType,
  fromTypedArray,
  gatherRows,
  manualSeed,
  mul,
  scope,
  sum,
  type Tensor,
  tanh,
} from 'skein/tensor';
import { Random } from 'skein/util';
import { difference, pick } from './compare.js';
import { partitionHetero } from './partitioned.js';

type Floats = Float32Array | Float64Array;
type ByType<T> = Readonly<Record<string, T>>;
/** The graphs that layers of this test take: on one machine, or one worker's partition. */
type AnyGraph = Pick<
  HeteroDistributedGraph,
  'canonical' | 'numSrcNodes' | 'numDstNodes' | 'joinRelations' | 'relation' | 'multiUpdateAll' | 'localScope'
>;

const comm = openCommunicator({ timeout: 60, peerTimeout: 20 });
const say = (fields: object) => process.stdout.write(`${JSON.stringify({ rank: comm.rank, ...fields })}\n`);

const counts: ByType<number> = { author: 14, paper: 22, venue: 3, topic: 5 };
const random = new Random(5);
const edges = (n: number, src: string, dst: string): [Int32Array, Int32Array] => [
  Int32Array.from({ length: n }, () => random.nextInt(counts[src])),
  Int32Array.from({ length: n }, () => random.nextInt(counts[dst])),
];
/** No edge leads to a venue, and topics have none at all. */
const graph = HeteroGraph.fromEdges(counts, {
  'author,writes,paper': edges(40, 'author', 'paper'),
  'paper,cites,paper': edges(50, 'paper', 'paper'),
  'venue,prints,paper': edges(12, 'venue', 'paper'),
  'paper,by,author': edges(30, 'paper', 'author'),
});
const types = Object.keys(counts);
const width = 4;

interface HeteroCase {
  readonly name: string;
  make(dtype: FloatDType): Module | null;
  run(layer: Module | null, graphs: readonly [AnyGraph, AnyGraph], x: ByType<Tensor>): ByType<Tensor>;
}

/** Layers give nothing for types that no edge reaches: these keep their rows. */
function passedOn(graphs: AnyGraph, x: ByType<Tensor>, y: ByType<Tensor>): ByType<Tensor> {
  const rest = types.map((type) => {
    const count = graphs.numDstNodes(type);
    const first = gatherRows(
      x[type],
      Int32Array.from({ length: count }, (_, i) => i),
    );
    return [type, Object.hasOwn(y, type) ? tanh(y[type]) : first] as const;
  });
  return Object.fromEntries(rest);
}

const stack =
  (forward: (layer: Module, graph: AnyGraph, x: ByType<Tensor>) => ByType<Tensor>): HeteroCase['run'] =>
  (layer, [a, b], x) => {
    const h = passedOn(a, x, forward(layer as Module, a, x));
    return passedOn(b, h, forward(layer as Module, b, h));
  };

const heteroConv = (layer: Module, g: AnyGraph, x: ByType<Tensor>) =>
  (layer as HeteroConv).forward(g as never, x);

const cases: readonly HeteroCase[] = [
  {
    name: 'HeteroConv of four kinds',
    make: (dtype) =>
      new HeteroConv({
        'author,writes,paper': new SAGEConv(width, width, { dtype }),
        cites: new GCNConv(width, width, { dtype }),
        'venue,prints,paper': new GATConv(width, 2, { dtype, heads: 2, inDst: width }),
        by: new SAGEConv(width, width, { dtype, aggregator: 'max' }),
      }),
    run: stack(heteroConv),
  },
  {
    name: 'HeteroConv of GraphConv, mean',
    make: (dtype) =>
      new HeteroConv(
        Object.fromEntries(
          graph.edgeTypes.map((type) => [
            type.join(),
            new GraphConv(width, width, { dtype, reduce: 'mean' }),
          ]),
        ),
        { aggregate: 'mean' },
      ),
    run: stack(heteroConv),
  },
  {
    name: 'HGTConv',
    make: (dtype) =>
      new HGTConv(
        {
          inFeatures: Object.fromEntries(types.map((type) => [type, width])),
          edgeTypes: graph.edgeTypes.map((type) => type.join()),
        },
        width,
        { dtype, heads: 2 },
      ),
    run: stack((layer, g, x) => (layer as HGTConv).forward(g as never, x)),
  },
  {
    name: 'multiUpdateAll',
    make: () => null,
    run: (_layer, graphs, x) => {
      let h = x;
      for (const g of graphs) {
        const before = h;
        h = g.localScope(() => {
          for (const type of graph.edgeTypes) g.relation(type).srcdata.h = before[type[0]];
          const step = (name: string) => [fn.copyU('h', 'm'), fn.mean('m', name)] as const;
          g.multiUpdateAll({ writes: step('y'), cites: step('y'), prints: step('y'), by: step('y') }, 'sum');
          const reached = { paper: g.relation('cites').dstdata.y, author: g.relation('by').dstdata.y };
          return passedOn(g, before, reached);
        });
      }
      return h;
    },
  },
];

function noise(seed: number, size: number, dtype: FloatDType): Floats {
  const source = new Random(seed);
  const all = dtype === 'f32' ? new Float32Array(size) : new Float64Array(size);
  for (let i = 0; i < size; i++) all[i] = Math.fround(source.nextFloat() * 2 - 1);
  return all;
}

interface Outcome {
  readonly y: ByType<Floats>;
  readonly gx: ByType<Floats>;
  readonly gradients: ReadonlyMap<string, Floats>;
}

/** Counts only rows of papers and authors. */
function outcome(
  each: HeteroCase,
  dtype: FloatDType,
  graphs: readonly [AnyGraph, AnyGraph],
  x: ByType<Floats>,
  factors: ByType<Floats>,
  rows: ByType<Int32Array>,
): Outcome {
  manualSeed(3);
  const layer = each.make(dtype);
  const inputs = Object.fromEntries(
    types.map((type) => [type, fromTypedArray(x[type], [x[type].length / width, width]).setRequiresGrad()]),
  );
  const all = each.run(layer, graphs, inputs);
  const y = { paper: gatherRows(all.paper, rows.paper), author: gatherRows(all.author, rows.author) };
  const part = (type: 'paper' | 'author') => sum(mul(y[type], fromTypedArray(factors[type], y[type].shape)));
  backward(add(part('paper'), part('author')));
  const copy = (t: Tensor | null, size: number): Floats =>
    (t?.dataSync() ?? noise(0, size, dtype).fill(0)).slice() as Floats;
  return {
    y: { paper: copy(y.paper, 0), author: copy(y.author, 0) },
    gx: Object.fromEntries(types.map((type) => [type, copy(inputs[type].grad, x[type].length)])),
    gradients: new Map(
      [...(layer?.namedParameters() ?? [])].map(([name, p]) => [name, copy(p.grad, p.size)]),
    ),
  };
}

const parts = Object.fromEntries(
  types.map((type) => {
    const draw = new Random(type.length);
    return [type, Int32Array.from({ length: counts[type] }, () => draw.nextInt(comm.size))];
  }),
);
const { pd, nodes } = partitionHetero(graph, parts, comm.size, comm.rank);
const { start } = pd.nodeRanges[comm.rank];
/** Own row (of all types) to original node of its type. */
const original = types.flatMap((type) => [...nodes[type]]);

const ids = (all: Int32Array): Int32Array => all.map((id) => original[id - start]);
const seedsOf = (type: string): number[] => [...nodes[type].keys()].filter((i) => nodes[type][i] % 2 === 0);
const firstOf = (type: string): number =>
  start + types.slice(0, types.indexOf(type)).reduce((n, t) => n + nodes[t].length, 0);
const seeds = ['author', 'paper'].flatMap((type) => seedsOf(type).map((row) => firstOf(type) + row));

interface Mode {
  readonly graphs: readonly [HeteroDistributedGraph, HeteroDistributedGraph];
  readonly rows: ByType<Int32Array>;
}
const wholeRows = { paper: Int32Array.from(seedsOf('paper')), author: Int32Array.from(seedsOf('author')) };
const firstRows = { paper: wholeRows.paper.map((_, i) => i), author: wholeRows.author.map((_, i) => i) };
const whole = (g: HeteroDistributedGraph): Mode => ({ graphs: [g, g], rows: wholeRows });
const blocks = (list: readonly HeteroDistributedGraph[]): Mode => ({
  graphs: [list[0], list[1]],
  rows: firstRows,
});
const mfgs = (mode: 'sar' | 'sa') => constructHeteroMfgs(pd, Int32Array.from(seeds), 2, true, { comm, mode });
const modes: Readonly<Record<string, Mode>> = {
  sar: whole(constructHeteroGraph(pd, { comm })),
  sa: whole(constructHeteroGraph(pd, { comm, mode: 'sa' })),
  'one-shot': whole(constructHeteroGraph(pd, { comm }).getFullPartitionGraph()),
  'mfg sar': blocks(mfgs('sar')),
  'mfg sa': blocks(mfgs('sa')),
  'mfg one-shot': blocks(mfgs('sar').map((g) => g.getFullPartitionGraph())),
};

let done = 0;
const evenRows = (type: string) => Int32Array.from({ length: Math.ceil(counts[type] / 2) }, (_, i) => 2 * i);
for (const each of cases) {
  for (const dtype of ['f64', 'f32'] as const) {
    const x = Object.fromEntries(types.map((type, i) => [type, noise(i, counts[type] * width, dtype)]));
    const rows = { paper: evenRows('paper'), author: evenRows('author') };
    const factors = {
      paper: noise(8, rows.paper.length * width, dtype),
      author: noise(9, rows.author.length * width, dtype),
    };
    const want = scope(() => outcome(each, dtype, [graph, graph] as never, x, factors, rows));
    for (const [mode, { graphs, rows: own }] of Object.entries(modes)) {
      const problems: string[] = [];
      const check = (what: string, got: Floats, wanted: Floats): void => {
        const d = difference(got, wanted);
        if (!(d <= (dtype === 'f64' ? 1e-10 : 1e-5))) problems.push(`${what} differs by ${d}`);
      };
      try {
        scope(() => {
          const sources = Object.fromEntries(types.map((type) => [type, ids(graphs[0].inputNodes(type))]));
          const input = Object.fromEntries(types.map((type) => [type, pick(x[type], sources[type], width)]));
          const half = (type: 'paper' | 'author') =>
            Int32Array.from(seedsOf(type), (row) => nodes[type][row] / 2);
          const ownFactors = {
            paper: pick(factors.paper, half('paper'), width),
            author: pick(factors.author, half('author'), width),
          };
          const got = outcome(each, dtype, graphs, input, ownFactors, own);
          for (const type of ['paper', 'author'] as const)
            check(`the result for ${type}`, got.y[type], pick(want.y[type], half(type), width));
          for (const type of types)
            check(`the gradient of x.${type}`, got.gx[type], pick(want.gx[type], sources[type], width));
          for (const [name, g] of got.gradients) {
            comm.allReduce(g);
            check(`the gradient of ${name}`, g, want.gradients.get(name) as Floats);
          }
        });
      } catch (error) {
        comm.abort(`${each.name}, ${mode}, ${dtype}: ${(error as Error).stack}`);
      }
      for (const problem of problems) say({ mode, dtype, name: each.name, problem });
      done++;
    }
  }
}
say({ done });
comm.close();
