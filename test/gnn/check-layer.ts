/**
 * Checks that every graph layer must pass: shapes, invariance to the order of edges and nodes, pairs,
 * isolated nodes, gradients, saving, threads, blocks, sparse input, and errors that name it.
 */

import type { Features, NodePair } from 'skein/gnn';
import { type Block, Graph, inBlock, type MessageGraph, SparseMatrix } from 'skein/graph';
import { getThreads, setThreads } from 'skein/native';
import type { Module } from 'skein/nn';
import { LayeredNeighborSampler, NeighborSampler } from 'skein/sample';
import {
  backward,
  decodeSafetensors,
  encodeSafetensors,
  type FloatDType,
  fromTypedArray,
  gatherRows,
  manualSeed,
  mul,
  rand,
  sum,
  type Tensor,
} from 'skein/tensor';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { randomGraph } from '../graph/graphs.js';
import { expectClose, expectFiniteDifferences } from '../nn/golden.js';

export interface LayerOptions {
  readonly dtype: FloatDType;
  /** False if a case compares with a graph in which loops would differ. */
  readonly selfLoops?: false;
}

/** Data of edges, by edge id. */
export interface EdgeData {
  readonly attr: Tensor;
  readonly type: Int32Array;
}

export interface LayerCase<L extends Module = Module> {
  readonly name: string;
  /** The prefix of its errors. */
  readonly layer: string;
  make(inFeatures: number, outFeatures: number, options: LayerOptions): L;
  run(layer: L, graph: MessageGraph, x: Features | NodePair, edges: EdgeData): Tensor;
  /** Columns of the result (default `outFeatures`). */
  width?(outFeatures: number): number;
  /** Whether it takes [xSrc, xDst], blocks, a SparseMatrix. */
  readonly pairs: boolean;
  readonly blocks: boolean;
  readonly sparse: boolean;
  /** False for layers that take any width. */
  readonly fixedWidth?: false;
}

const N = 11;
const relations = 4;
const edgeDim = 2;

function edgeData(edges: number, dtype: FloatDType = 'f64', seed = 5): EdgeData {
  const random = new Random(seed);
  return {
    attr: rand([edges, edgeDim], { lo: -1, hi: 1, dtype, random }),
    type: Int32Array.from({ length: edges }, () => random.nextInt(relations)),
  };
}

function rows(n: number, width: number, seed = 3, dtype: FloatDType = 'f64'): Tensor {
  return rand([n, width], { lo: -1, hi: 1, dtype, random: new Random(seed) });
}

function pick(data: EdgeData, ids: Int32Array): EdgeData {
  return { attr: gatherRows(data.attr, ids), type: ids.map((id) => data.type[id]) };
}

const close = (a: Tensor, b: Tensor, limit: number, what: string): void =>
  expectClose(a, [...b.dataSync()], limit, what);

/** A fixed weight for each result, so that gradients differ. */
function weighted(y: Tensor): Tensor {
  const values = Float64Array.from({ length: y.size }, (_, i) => ((i * 37 + 11) % 29) / 29 - 0.4);
  return sum(mul(y, fromTypedArray(y.dtype === 'f32' ? Float32Array.from(values) : values, y.shape)));
}

/** Leaves of a layer and its input, by name. */
function leavesOf(layer: Module, x: Tensor): Record<string, Tensor> {
  return { x, ...Object.fromEntries(layer.namedParameters()) };
}

export function checkLayer<L extends Module>(spec: LayerCase<L>): void {
  const width = spec.width ?? ((out: number) => out);
  const graph = randomGraph(N, 30);
  const edges = edgeData(30);
  const make = (inF = 5, outF = 3, options: LayerOptions = { dtype: 'f64' }): L => {
    manualSeed(11);
    return spec.make(inF, outF, options).eval();
  };

  describe(`${spec.name} as a layer`, () => {
    if (spec.fixedWidth !== false) {
      it('rejects other widths and row counts', () => {
        const named = new RegExp(`^${spec.layer}: expected`);
        expect(() => spec.run(make(), graph, rows(N, 6), edges)).toThrow(named);
        expect(() => spec.run(make(), graph, rows(N - 1, 5), edges)).toThrow(named);
        expect(() => spec.run(make(), graph, fromTypedArray(new Float64Array(N)), edges)).toThrow(named);
      });
    }

    it('maps [N, in] to [N, out], finite for isolated nodes', () => {
      const y = spec.run(make(), graph, rows(N, 5), edges);
      expect(y.shape).toEqual([N, width(3)]);
      expect(y.dataSync().every(Number.isFinite)).toBe(true);
      const lonely = Graph.fromEdges([], [], { numNodes: 4 });
      const x = rows(4, 5).setRequiresGrad();
      const layer = make();
      const alone = spec.run(layer, lonely, x, edgeData(0));
      expect(alone.shape).toEqual([4, width(3)]);
      backward(weighted(alone));
      for (const [name, leaf] of Object.entries(leavesOf(layer, x)))
        expect(leaf.grad?.dataSync().every(Number.isFinite) ?? true, name).toBe(true);
    });

    it('does not depend on the order of edges', () => {
      const { src, dst } = graph.edges();
      const order = Int32Array.from({ length: 30 }, (_, i) => (i * 7 + 3) % 30);
      const shuffled = Graph.fromEdges(
        order.map((e) => src[e]),
        order.map((e) => dst[e]),
        { numNodes: N },
      );
      const layer = make();
      const x = rows(N, 5);
      const y = spec.run(layer, shuffled, x, pick(edges, order));
      close(y, spec.run(layer, graph, x, edges), 1e-12, 'shuffled edges');
    });

    it('does not depend on the numbering of nodes', () => {
      const { src, dst } = graph.edges();
      const to = Int32Array.from({ length: N }, (_, v) => (v * 4 + 2) % N);
      const back = new Int32Array(N);
      to.forEach((w, v) => {
        back[w] = v;
      });
      const moved = Graph.fromEdges(
        src.map((v) => to[v]),
        dst.map((v) => to[v]),
        { numNodes: N },
      );
      const layer = make();
      const x = rows(N, 5);
      const y = gatherRows(spec.run(layer, moved, gatherRows(x, back), edges), to);
      close(y, spec.run(layer, graph, x, edges), 1e-12, 'renumbered nodes');
    });

    if (spec.pairs) {
      it('takes [source rows, destination rows]', () => {
        const random = new Random(8);
        const src = Int32Array.from({ length: 20 }, () => random.nextInt(7));
        const dst = Int32Array.from({ length: 20 }, () => random.nextInt(4));
        const data = edgeData(20);
        const pair = Graph.fromEdges(src, dst, { numSrc: 7, numDst: 4 });
        const square = Graph.fromEdges(
          src,
          dst.map((v) => v + 7),
          { numNodes: 11 },
        );
        const layer = make(5, 3, { dtype: 'f64', selfLoops: false });
        const x = rows(11, 5);
        const y = spec.run(layer, pair, [x.slice(0, 7), x.slice(7, 11)], data);
        close(y, spec.run(layer, square, x, data).slice(7, 11), 1e-12, 'pair');
      });
    }

    it('has the gradients of finite differences', () => {
      const layer = make();
      const x = rows(N, 5).setRequiresGrad();
      expectFiniteDifferences(() => spec.run(layer, graph, x, edges), leavesOf(layer, x));
    });

    it('saves and loads', () => {
      const layer = make();
      const x = rows(N, 5);
      const saved = encodeSafetensors(layer.stateDict());
      manualSeed(99);
      const other = spec.make(5, 3, { dtype: 'f64' }).eval();
      other.loadStateDict(decodeSafetensors(saved).tensors);
      const y = spec.run(layer, graph, x, edges);
      expect(spec.run(other, graph, x, edges).dataSync()).toEqual(y.dataSync());
    });

    it('gives the same bytes for 1 and 2 threads', () => {
      const large = randomGraph(1500, 20000, 4);
      const data = edgeData(20000, 'f32');
      const results = [1, 2].map((threads) => {
        const before = getThreads();
        setThreads(threads);
        try {
          const layer = make(33, 17, { dtype: 'f32' });
          const x = rows(1500, 33, 3, 'f32').setRequiresGrad();
          const y = spec.run(layer, large, x, data);
          backward(weighted(y));
          const grads = Object.values(leavesOf(layer, x)).map((t) => t.grad?.dataSync().slice());
          return [y.dataSync().slice(), ...grads];
        } finally {
          setThreads(before);
        }
      });
      expect(results[1]).toEqual(results[0]);
    });

    if (spec.blocks) checkBlocks(spec, width);

    if (spec.sparse) {
      it('takes a sparse matrix as it takes the dense one', () => {
        const dense = Float32Array.from({ length: N * 5 }, (_, i) => (i % 3 === 0 ? ((i * 5) % 7) / 4 : 0));
        const sparse = SparseMatrix.fromDense(fromTypedArray(dense, [N, 5]));
        const layer = make();
        const x = fromTypedArray(Float64Array.from(dense), [N, 5]);
        close(
          spec.run(layer, graph, sparse, edges),
          spec.run(layer, graph, x, edges),
          1e-12,
          'sparse features',
        );
        const block = inBlock(graph, [3, 8]);
        const part = sparse.gatherRows(block.srcIds as Int32Array);
        const y = spec.run(layer, block, part, pick(edges, block.parentEdgeIds as Int32Array));
        close(y, gatherRows(spec.run(layer, graph, x, edges), [3, 8]), 1e-12, 'sparse block');
      });
    }
  });
}

/** One block per layer for `seeds`, with all neighbours, made in three ways. */
const allNeighbours: Readonly<Record<string, (graph: Graph, seeds: Int32Array) => readonly Block[]>> = {
  'blocks extracted from the graph': (graph, seeds) => {
    const second = inBlock(graph, seeds);
    return [inBlock(graph, second.srcIds as Int32Array), second];
  },
  'sampled blocks with fan-out −1': (graph, seeds) =>
    new NeighborSampler(graph, { fanouts: [-1, -1] }).sample(seeds).blocks,
  'a DENSE batch': (graph, seeds) =>
    new LayeredNeighborSampler(graph, { layers: [-1, -1], outgoing: false }).sample(seeds).takeBlocks(),
};

/** Two layers on the whole graph, and on blocks of all neighbours of a few nodes: same rows, same gradients. */
function checkBlocks<L extends Module>(spec: LayerCase<L>, width: (out: number) => number): void {
  const seeds = Int32Array.of(7, 0, 31, 39);

  it.each(Object.keys(allNeighbours))('gives the rows and gradients of the full graph on %s', (mode) => {
    const graph = randomGraph(40, 120, 6, true);
    const edges = edgeData(120);
    manualSeed(12);
    const layers = [spec.make(5, 4, { dtype: 'f64' }), spec.make(width(4), 3, { dtype: 'f64' })];
    const outcome = (blocks: readonly Block[] | null): Tensor[] => {
      for (const layer of layers) layer.zeroGrad();
      const x = rows(40, 5).setRequiresGrad();
      let h: Tensor = blocks === null ? x : gatherRows(x, blocks[0].srcIds as Int32Array);
      layers.forEach((layer, i) => {
        const data = blocks === null ? edges : pick(edges, blocks[i].parentEdgeIds as Int32Array);
        h = spec.run(layer.eval(), blocks === null ? graph : blocks[i], h, data);
      });
      const y = blocks === null ? gatherRows(h, seeds) : h;
      backward(weighted(y));
      const leaves = [x, ...layers.flatMap((layer) => layer.parameters())];
      return [y, ...leaves.map((t) => (t.grad as Tensor).clone())];
    };
    const wanted = outcome(null);
    outcome(allNeighbours[mode](graph, seeds)).forEach((t, i) => {
      close(t, wanted[i], 1e-10, i === 0 ? 'rows' : `gradient ${i}`);
    });
  });
}
