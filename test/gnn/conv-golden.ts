/**
 * Values that PyTorch Geometric computed for graph layers (test/golden/conv.json, versions inside) and plain PyTorch
 * for those it lacks (test/golden/gnn.json, written by scripts/golden/gnn.py). Both have the same layout: one
 * multigraph in which node 0 has no incoming and the last node no outgoing edge, and per case x, parameters, the output
 * and the gradients of sum(out · r).
 */
import { readFileSync } from 'node:fs';
import { Graph } from 'skein/graph';
import type { Module } from 'skein/nn';
import { backward, fromTypedArray, mul, sum, type Tensor } from 'skein/tensor';
import { expect } from 'vitest';
import { expectClose } from '../nn/golden.js';

export interface Array64 {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

export interface ConvCase {
  readonly name: string;
  readonly notes: string;
  readonly x: Array64;
  readonly out: Array64;
  readonly r: Array64;
  readonly grad_x: Array64;
  readonly params: Readonly<Record<string, Array64>>;
  readonly grads: Readonly<Record<string, Array64>>;
}

interface GoldenFile {
  readonly num_nodes: number;
  readonly src: readonly number[];
  readonly dst: readonly number[];
  readonly edge_weight: readonly number[];
  readonly edge_type: readonly number[];
  readonly edge_attr: Array64;
  readonly cases: readonly ConvCase[];
}

export function readGolden(name: string): GoldenFile {
  return JSON.parse(readFileSync(new URL(`../golden/${name}.json`, import.meta.url), 'utf8'));
}

export function toTensor({ shape, data }: Array64): Tensor {
  return fromTypedArray(Float64Array.from(data), shape);
}

export function goldenGraph(file: GoldenFile, weighted = false): Graph {
  const { num_nodes: numNodes, src, dst, edge_weight: edgeWeight } = file;
  return Graph.fromEdges(src, dst, weighted ? { numNodes, edgeWeight } : { numNodes });
}

/** Converts `lin_l.weight` to `linL.weight`. */
function camel(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Runs a layer on a recorded case and compares the output and every gradient. */
export function expectRecordedLayer(
  recorded: ConvCase,
  layer: Module,
  run: (x: Tensor) => Tensor,
  limit = 1e-10,
): void {
  const own = layer.namedParameters();
  const names = Object.keys(recorded.params).map(camel);
  expect([...own.keys()].sort()).toEqual(names.sort());
  const state = Object.entries(recorded.params).map(([name, value]) => {
    const p = own.get(camel(name)) as Tensor;
    return [camel(name), toTensor(value).reshape(p.shape).clone()] as const;
  });
  layer.loadStateDict(Object.fromEntries(state));
  const x = toTensor(recorded.x).setRequiresGrad();
  const out = run(x);
  expect(out.shape).toEqual(recorded.out.shape);
  expectClose(out, recorded.out.data, limit, 'out');
  backward(sum(mul(out, toTensor(recorded.r))));
  expectClose(x.grad as Tensor, recorded.grad_x.data, limit, 'gradient of x');
  for (const [name, value] of Object.entries(recorded.grads))
    expectClose(own.get(camel(name))?.grad as Tensor, value.data, limit, `gradient of ${name}`);
}
