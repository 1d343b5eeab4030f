/** Layers on graphs with several node and edge types. */
import { GATConv, GCNConv, HeteroConv, HGTConv, SAGEConv } from 'skein/gnn';
import { HeteroGraph } from 'skein/graph';
import { HeteroNeighborSampler } from 'skein/sample';
import { add, concat, manualSeed, maximum, minimum, mul, rand, type Tensor } from 'skein/tensor';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { expectClose, expectFiniteDifferences } from '../nn/golden.js';

const counts = { author: 6, paper: 8, venue: 3 };

function typedGraph(order: (n: number) => number[] = (n) => [...Array(n).keys()]): HeteroGraph {
  const random = new Random(5);
  const edges = (n: number, src: number, dst: number): [Int32Array, Int32Array] => {
    const from = Int32Array.from({ length: n }, () => random.nextInt(src));
    const to = Int32Array.from({ length: n }, () => random.nextInt(dst));
    const places = order(n);
    return [Int32Array.from(places, (i) => from[i]), Int32Array.from(places, (i) => to[i])];
  };
  return HeteroGraph.fromEdges(counts, {
    'author,writes,paper': edges(14, 6, 8),
    'paper,cites,paper': edges(12, 8, 8),
    'venue,prints,paper': edges(6, 3, 8),
    'paper,by,author': edges(9, 8, 6),
  });
}

const graph = typedGraph();
const f64 = { dtype: 'f64' } as const;
const rows = (n: number, width: number, seed: number): Tensor =>
  rand([n, width], { lo: -1, hi: 1, dtype: 'f64', random: new Random(seed) });
const x = { author: rows(6, 3, 1), paper: rows(8, 4, 2), venue: rows(3, 2, 3) };

const close = (a: Tensor, b: Tensor, limit: number, what: string): void =>
  expectClose(a, [...b.dataSync()], limit, what);

describe('HeteroConv', () => {
  const make = (seed = 1): Record<string, SAGEConv | GCNConv | GATConv> => {
    manualSeed(seed);
    return {
      'author,writes,paper': new SAGEConv(3, 5, { ...f64, inDst: 4 }),
      cites: new GCNConv(4, 5, f64),
      'venue,prints,paper': new GATConv(2, 5, { ...f64, inDst: 4 }),
      'paper,by,author': new SAGEConv(4, 5, { ...f64, inDst: 3 }),
    };
  };

  it('rejects invalid arguments', () => {
    const convs = make();
    expect(() => new HeteroConv(convs, { aggregate: 'prod' as 'sum' })).toThrow(
      'HeteroConv: expected sum, mean',
    );
    expect(() => new HeteroConv({ cites: {} as GCNConv })).toThrow('HeteroConv: expected a layer for cites');
    const { venue: _, ...rest } = x;
    expect(() => new HeteroConv(convs).forward(graph, rest)).toThrow(
      'HeteroConv: expected a tensor for x.venue',
    );
    expect(() => new HeteroConv({ likes: new GCNConv(4, 5) }).forward(graph, x)).toThrow('a known edge type');
  });

  it('combines the layers that reach a node type', () => {
    const convs = make();
    const writes = (convs['author,writes,paper'] as SAGEConv).forward(graph.relation('writes'), [
      x.author,
      x.paper,
    ]);
    const cites = (convs.cites as GCNConv).forward(graph.relation('cites'), x.paper);
    const prints = (convs['venue,prints,paper'] as GATConv).forward(graph.relation('prints'), [
      x.venue,
      x.paper,
    ]);
    const wanted = {
      sum: add(add(writes, cites), prints),
      mean: mul(add(add(writes, cites), prints), 1 / 3),
      max: maximum(maximum(writes, cites), prints),
      min: minimum(minimum(writes, cites), prints),
      cat: concat([writes, cites, prints], 1),
    };
    for (const aggregate of ['sum', 'mean', 'max', 'min', 'cat'] as const) {
      const y = new HeteroConv(convs, { aggregate }).forward(graph, x);
      expect(Object.keys(y).sort()).toEqual(['author', 'paper']);
      close(y.paper, wanted[aggregate], 1e-14, aggregate);
      expect(y.author.shape).toEqual([6, 5]);
    }
  });

  it('has the gradients of finite differences and saves its layers', () => {
    const layer = new HeteroConv(make());
    const leaves = Object.fromEntries(layer.namedParameters());
    expect(Object.keys(leaves)).toContain('convs.author,writes,paper.linL.weight');
    expectFiniteDifferences(() => {
      const y = layer.forward(graph, x);
      return concat([y.author, y.paper], 0);
    }, leaves);
    const state = Object.fromEntries(Object.entries(layer.stateDict()).map(([name, t]) => [name, t.clone()]));
    const other = new HeteroConv(make(2));
    other.loadStateDict(state);
    expect(other.forward(graph, x).paper.dataSync()).toEqual(layer.forward(graph, x).paper.dataSync());
  });

  it('passes edge features to their layer', () => {
    manualSeed(3);
    const conv = new GATConv(3, 2, { ...f64, inDst: 4, edgeDim: 2 });
    const layer = new HeteroConv({ writes: conv });
    const attr = rows(14, 2, 9);
    const y = layer.forward(graph, x, { writes: attr });
    close(y.paper, conv.forward(graph.relation('writes'), [x.author, x.paper], attr), 0, 'edge features');
  });
});

describe('HGTConv', () => {
  const edgeTypes = graph.edgeTypes.map((type) => type.join());
  const make = (out: number): HGTConv => {
    manualSeed(4);
    return new HGTConv({ inFeatures: { author: 3, paper: 4, venue: 2 }, edgeTypes }, out, {
      ...f64,
      heads: 2,
    });
  };

  it('rejects wrong widths', () => {
    expect(() => make(4).forward(graph, { ...x, venue: x.paper })).toThrow(
      /^HGTConv: expected shape \[3, 2\]/,
    );
    expect(() => make(3)).toThrow('HGTConv: expected a divisor of outFeatures (3) for heads, got 2');
  });

  it('gives a row for every node of the types that edges reach', () => {
    const y = make(4).forward(graph, x);
    expect(Object.keys(y).sort()).toEqual(['author', 'paper']);
    expect([y.author.shape, y.paper.shape]).toEqual([
      [6, 4],
      [8, 4],
    ]);
  });

  it('does not depend on the order of edges', () => {
    const shuffled = typedGraph((n) => [...Array(n).keys()].reverse());
    const layer = make(6);
    const y = layer.forward(shuffled, x);
    close(y.paper, layer.forward(graph, x).paper, 1e-12, 'shuffled edges');
  });

  it('has the gradients of finite differences', () => {
    const layer = make(4);
    const leaves = {
      ...Object.fromEntries(layer.namedParameters()),
      author: x.author.clone().setRequiresGrad(),
    };
    expectFiniteDifferences(
      () => {
        const y = layer.forward(graph, { ...x, author: leaves.author });
        return concat([y.author, y.paper], 0);
      },
      without(leaves, 'skip.author'),
    );
  });
});

/** `skip.author` is unused where the widths differ (3 in, 4 out). */
function without(leaves: Record<string, Tensor>, name: string): Record<string, Tensor> {
  const { [name]: _, ...rest } = leaves;
  return rest;
}

describe('HeteroConv on sampled blocks', () => {
  it('gives the rows of the whole graph when all neighbours are taken', () => {
    manualSeed(4);
    const first = new HeteroConv({
      writes: new SAGEConv(3, 4, { ...f64, inDst: 4 }),
      cites: new SAGEConv(4, 4, f64),
      by: new SAGEConv(4, 4, { ...f64, inDst: 3 }),
    });
    const second = new HeteroConv({ writes: new SAGEConv(4, 2, f64), cites: new SAGEConv(4, 2, f64) });
    const wanted = second.forward(graph, first.forward(graph, x)).paper;
    const batch = new HeteroNeighborSampler(graph, { fanouts: [-1, -1] }).sample({ paper: [5, 1] });
    const rowsOfBatch = Object.fromEntries(
      Object.entries(batch.nodeIds).map(([type, ids]) => [type, x[type as keyof typeof x].gatherRows(ids)]),
    );
    const [outer, inner] = batch.blocks;
    const got = second.forward(inner, first.forward(outer, rowsOfBatch)).paper;
    close(got, wanted.gatherRows([5, 1]), 1e-12, 'blocks');
  });
});
