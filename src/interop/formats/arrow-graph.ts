/** Graphs from Arrow edge tables: a row per edge, a column per end, in the order of edge ids. */
import { Graph } from '../../graph/index.js';
import { checkInteger, DTypeError, expected } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { columnOf, fromArrow } from './arrow.js';
import type { ArrowTable } from './arrow-like.js';
import { viewIds } from './ids.js';

export interface ArrowGraphOptions {
  /** Number of nodes, including those without edges. */
  readonly numNodes: number;
  /** Columns of the ends. Default `src` and `dst`. */
  readonly src?: string;
  readonly dst?: string;
  /** Column of the weights; without it edges have none. */
  readonly weight?: string;
}

/**
 * @example
 * const graph = graphFromArrow(tableFromIPC(bytes), { numNodes: 2708, src: 'from', dst: 'to' });
 */
export function graphFromArrow(table: ArrowTable, options: ArrowGraphOptions): Graph {
  checkOptionNames('graphFromArrow', options, { numNodes: true, src: true, dst: true, weight: true });
  const numNodes = checkInteger('graphFromArrow', 'numNodes', options?.numNodes, 0, 2 ** 31 - 1);
  const ids = (name: string): Int32Array => viewIds(fromArrow(columnOf(table, name), name), name);
  const src = ids(options.src ?? 'src');
  const dst = ids(options.dst ?? 'dst');
  if (options.weight === undefined) return Graph.fromEdges(src, dst, { numNodes });
  return Graph.fromEdges(src, dst, { numNodes, edgeWeight: weights(table, options.weight) });
}

function weights(table: ArrowTable, name: string): Float32Array {
  const view = fromArrow(columnOf(table, name), name);
  const values = view.toTyped();
  if (view.dtype !== 'f32' && view.dtype !== 'f64')
    throw new DTypeError(expected('graphFromArrow', 'f32 or f64', name, view.dtype));
  return Float32Array.from(values as Float32Array | Float64Array);
}
