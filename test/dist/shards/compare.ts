/**
 * Runs a case on one machine and on this worker's partition, and returns where results or gradients differ. Gradients
 * are those of the sum of all outputs times fixed factors.
 */
import type { Communicator, DistributedGraph } from 'skein/dist';
import type { Graph, MessageGraph } from 'skein/graph';
import { backward, type FloatDType, fromTypedArray, mul, sum, type Tensor } from 'skein/tensor';
import { Random } from 'skein/util';
import { type OpCase, place, type Rows } from './op-cases.js';

type Floats = Float32Array | Float64Array;

export interface Where {
  readonly comm: Communicator;
  /** Original node of each own row, original edge of each own edge. */
  readonly nodes: Int32Array;
  readonly edges: Int32Array;
}

function values(seed: number, size: number, dtype: FloatDType, ties: boolean): Floats {
  const random = new Random(seed);
  const all = dtype === 'f32' ? new Float32Array(size) : new Float64Array(size);
  for (let i = 0; i < size; i++) all[i] = ties ? random.nextInt(3) : Math.fround(random.nextFloat() * 2 - 1);
  return all;
}

export function pick(all: Floats, ids: Int32Array, width: number): Floats {
  const part =
    all instanceof Float32Array ? new Float32Array(ids.length * width) : new Float64Array(ids.length * width);
  for (const [i, id] of ids.entries()) part.set(all.subarray(id * width, (id + 1) * width), i * width);
  return part;
}

/** Largest difference relative to the largest value around. */
export function difference(got: Floats, want: Floats): number {
  if (got.length !== want.length) return Infinity;
  let scale = 1;
  let worst = 0;
  for (const v of want) scale = Math.max(scale, Math.abs(v));
  for (let i = 0; i < got.length; i++) {
    const d = Math.abs(got[i] - want[i]);
    if (!(d <= worst)) worst = d;
  }
  return worst / scale;
}

/** Names and sizes of what differs by more than `tolerance`; empty when all is well. */
export function compareCase(
  each: OpCase,
  whole: Graph,
  part: DistributedGraph,
  where: Where,
  dtype: FloatDType,
  tolerance: number,
): string[] {
  const { comm, nodes, edges } = where;
  const problems: string[] = [];
  const check = (what: string, got: Floats, want: Floats): void => {
    const d = difference(got, want);
    if (!(d <= tolerance)) problems.push(`${what} differs by ${d}`);
  };
  const rows = { node: whole.numNodes, edge: whole.numEdges, parameter: 0 };
  const idsOf = { node: nodes, edge: edges, parameter: new Int32Array(0) };
  const inputs = Object.entries(each.inputs).map(([name, [kind, ...shape]], i) => {
    const width = shape.reduce((a, b) => a * b, 1);
    const total = kind === 'parameter' ? width : rows[kind] * width;
    const all = values(11 + i, total, dtype, each.ties === true && kind !== 'parameter');
    return { name, kind: kind as Rows, shape, width, all };
  });
  const run = (graph: MessageGraph, distributed: boolean): { y: Tensor; given: Record<string, Tensor> } => {
    const given: Record<string, Tensor> = {};
    for (const { name, kind, shape, width, all } of inputs) {
      const own = distributed && kind !== 'parameter' ? pick(all, idsOf[kind], width) : all.slice();
      const first = kind === 'parameter' ? [] : [own.length / width];
      given[name] = fromTypedArray(own, [...first, ...shape]).setRequiresGrad();
    }
    const y = graph.localScope(() => each.run(graph, given));
    return { y, given };
  };
  place.nodes = Int32Array.from({ length: whole.numNodes }, (_, v) => v);
  const one = run(whole, false);
  const kind = each.out ?? 'node';
  const width = one.y.size / Math.max(1, rows[kind]);
  const factors = values(99, one.y.size, dtype, false);
  backward(sum(mul(one.y, fromTypedArray(factors, one.y.shape))));
  place.nodes = nodes;
  const many = run(part, true);
  const ids = idsOf[kind];
  check('the result', many.y.dataSync() as Floats, pick(one.y.dataSync() as Floats, ids, width));
  const own = fromTypedArray(pick(factors, ids, width), many.y.shape);
  backward(sum(mul(many.y, own)));
  for (const input of inputs) {
    const want = one.given[input.name].grad?.dataSync() as Floats;
    const got = many.given[input.name].grad?.dataSync() as Floats;
    if (got === undefined || want === undefined) {
      problems.push(`no gradient of ${input.name}`);
    } else if (input.kind === 'parameter') {
      const total = got.slice();
      comm.allReduce(total);
      check(`the gradient of ${input.name}`, total, want);
    } else {
      check(`the gradient of ${input.name}`, got, pick(want, idsOf[input.kind], input.width));
    }
  }
  return problems;
}
