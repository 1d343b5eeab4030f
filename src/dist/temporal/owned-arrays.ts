/** Gathers the arrays of a mailbox from their owners, for snapshots, which are the same for any number of workers. */
import { kernels, type TypedArray } from '../../native/index.js';
import type { PlainDelta } from '../../temporal/mailbox/check-delta.js';
import {
  type StateName,
  type StateSizes,
  stateNames,
  stateType,
  stateWidths,
} from '../../temporal/mailbox/state.js';
import { expected, ShapeError } from '../../util/errors.js';
import type { Communicator } from '../comm/communicator.js';
import type { NodeOwners } from './node-owners.js';
import { gatherAll } from './row-exchange.js';

export type NamedArrays = Record<StateName, TypedArray>;

/**
 * Returns the sizes of a store of all nodes. A mailbox may have been given the number of all nodes, or, as in StarryGL, that of the
 * nodes this worker holds.
 */
export function ownedSizes(
  where: string,
  sizes: StateSizes,
  { numNodes }: NodeOwners,
  numRows: number,
): StateSizes {
  if (sizes.numNodes === numNodes || sizes.numNodes === numRows) return { ...sizes, numNodes };
  throw new ShapeError(
    expected(where, `${numNodes} (all nodes) or ${numRows} (of this worker)`, 'numNodes', sizes.numNodes),
  );
}

/** Returns the rows of all nodes on every worker, from the rows that each worker owns. */
export function gatherOwned(
  comm: Communicator,
  owners: NodeOwners,
  sizes: StateSizes,
  own: Readonly<NamedArrays>,
): NamedArrays {
  const workers = Array.from({ length: comm.size }, (_, q) => owners.nodesOf(q));
  return eachArray(sizes, (name, width) => {
    const all = new (stateType(sizes, name))(sizes.numNodes * width);
    const gathered = comm.allGather(own[name] as Float32Array);
    for (const [q, nodes] of workers.entries()) putNodes(all, gathered[q], nodes, width);
    return all;
  });
}

/** Returns the rows of some nodes. */
export function pickNodes(
  sizes: StateSizes,
  arrays: Readonly<Record<string, TypedArray>>,
  nodes: Int32Array,
): NamedArrays {
  return eachArray(sizes, (name, width) => {
    const rows = new (stateType(sizes, name))(nodes.length * width);
    if (rows.length > 0)
      kernels().gatherRows(arrays[name], nodes, rows, nodes.length, width * rows.BYTES_PER_ELEMENT);
    return rows;
  });
}

/** Writes the rows of some nodes into the array of all nodes. */
export function putNodes(all: TypedArray, rows: TypedArray, nodes: Int32Array, width: number): void {
  if (rows.length > 0) kernels().putRows(rows, nodes, all, nodes.length, width * all.BYTES_PER_ELEMENT);
}

/** Makes every array from its name and the number of elements per row. */
export function eachArray(
  sizes: StateSizes,
  make: (name: StateName, width: number) => TypedArray,
): NamedArrays {
  const widths = stateWidths(sizes);
  return Object.fromEntries(stateNames.map((name) => [name, make(name, widths[name])])) as NamedArrays;
}

/** Joins the deltas of all workers, in the order of ranks. */
export function gatherDelta(comm: Communicator, delta: PlainDelta): PlainDelta {
  const names = Object.keys(delta) as (keyof PlainDelta)[];
  const entries = names.map((name) => [name, gatherAll(comm, delta[name] as Float32Array)]);
  return Object.fromEntries(entries) as PlainDelta;
}
