/**
 * Checks that samplers share: option objects, flags, graphs, and the sizes of what is drawn.
 *
 * Rows and edges of a batch are numbered with 32 bits, so a batch that may hold more is refused before it is drawn.
 */
import { Graph } from '../graph/index.js';
import { expected, ValueError } from '../util/errors.js';

/** Numbers that one result may hold. */
export const mostNumbers = 2 ** 31 - 2;

/** Refuses anything but an object with options. */
export function checkOptions<T extends object>(where: string, options: T, name = 'options'): T {
  if (typeof options !== 'object' || options === null)
    throw new ValueError(expected(where, 'an object', name, options));
  return options;
}

/** A boolean option; `fallback` when it is not given. */
export function checkFlag(where: string, name: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined) return fallback;
  if (typeof value !== 'boolean') throw new ValueError(expected(where, 'true or false', name, value));
  return value;
}

/** A graph whose sources and destinations are the same nodes. */
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

/** Refuses a batch of too many edges. */
export function checkEdgeCount(where: string, edges: number): number {
  if (edges <= mostNumbers) return edges;
  const advice = 'Use smaller fan-outs or fewer seeds per batch.';
  throw new ValueError(
    expected(where, `at most ${mostNumbers} sampled edges`, 'fanouts and seeds', edges, advice),
  );
}

/** Zeros, as many as the product of the named factors. */
export function allocateProduct(where: string, factors: Readonly<Record<string, number>>): Int32Array {
  const values = Object.values(factors);
  const size = values.reduce((product, factor) => product * factor, 1);
  const name = Object.keys(factors).join(' × ');
  if (size > mostNumbers)
    throw new ValueError(expected(where, `a product of at most ${mostNumbers}`, name, values.join(' × ')));
  return allocate(where, size, name);
}

/** Zeros; `name` says what made them so many when memory does not suffice. */
export function allocate(where: string, size: number, name: string): Int32Array<ArrayBuffer> {
  try {
    return new Int32Array(size);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ValueError(expected(where, 'what fits into memory', name, `${size} numbers`));
  }
}
