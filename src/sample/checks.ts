/**
 * Checks shared by samplers: option objects, flags, graphs, and the sizes of results.
 *
 * Rows and edges of a batch have 32-bit indices, so a batch that may exceed them is rejected before it is drawn.
 */
import { Graph } from '../graph/index.js';
import { expected, ValueError } from '../util/errors.js';

/** Maximum length of a result. */
export const maxNumbers = 2 ** 31 - 2;

/** Throws unless `options` is an object. */
export function checkOptions<T extends object>(where: string, options: T, name = 'options'): T {
  if (typeof options !== 'object' || options === null)
    throw new ValueError(expected(where, 'an object', name, options));
  return options;
}

/** Checks a boolean option; returns `fallback` if it is undefined. */
export function checkFlag(where: string, name: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined) return fallback;
  if (typeof value !== 'boolean') throw new ValueError(expected(where, 'true or false', name, value));
  return value;
}

/** Checks that sources and destinations of a graph are the same nodes. */
export function checkOneType(where: string, graph: Graph): Graph {
  if (!(graph instanceof Graph))
    throw new ValueError(expected(where, 'a Graph of one node type', 'graph', graph));
  if (graph.isBipartite) {
    throw new ValueError(
      `${where}: expected a graph of one node type for graph, got a bipartite one. Use HeteroNeighborSampler.`,
    );
  }
  return graph;
}

/** Throws if a batch has too many edges. */
export function checkEdgeCount(where: string, edges: number): number {
  if (edges <= maxNumbers) return edges;
  const advice = 'Use smaller fan-outs or fewer seeds per batch.';
  throw new ValueError(
    expected(where, `at most ${maxNumbers} sampled edges`, 'fanouts and seeds', edges, advice),
  );
}

/** Allocates zeros, as many as the product of the named factors. */
export function allocateProduct(where: string, factors: Readonly<Record<string, number>>): Int32Array {
  const values = Object.values(factors);
  const size = values.reduce((product, factor) => product * factor, 1);
  const name = Object.keys(factors).join(' × ');
  if (size > maxNumbers)
    throw new ValueError(expected(where, `a product of at most ${maxNumbers}`, name, values.join(' × ')));
  return allocate(where, size, name);
}

/** Allocates zeros; `name` is named in the error if memory does not suffice. */
export function allocate(where: string, size: number, name: string): Int32Array<ArrayBuffer> {
  try {
    return new Int32Array(size);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ValueError(expected(where, 'a result that fits into memory', name, `${size} numbers`));
  }
}
