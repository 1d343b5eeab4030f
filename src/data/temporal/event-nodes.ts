/**
 * What a file calls its nodes, and their numbers: the way there and back for everything that reads or prints nodes.
 *
 * Ids that stand as they are, or one higher, cost nothing; ids with gaps take eight bytes a node; only names take strings.
 * Where sources and destinations are numbered apart in the file (JODIE's users and items) the side belongs to the question.
 */
import { expected, ValueError } from '../../util/errors.js';
import type { NameTable } from '../prepare/name-table.js';

/** The end of an event that a node stands at. */
export type EventSide = 'src' | 'dst';

/** Numbers 0 … size − 1 and what the file calls them. */
export interface EventNodes extends NameTable {
  /** same: by their numbers; shifted: one higher; ids: numbers with gaps; names: text; sides: two of these. */
  readonly kind: 'same' | 'shifted' | 'ids' | 'names' | 'sides';
  /** Sources and destinations by themselves, where they are numbered apart. */
  readonly sides?: readonly [src: EventNodes, dst: EventNodes];
  /** The node that the file calls so; undefined when there is none, or when the sides differ and none is given. */
  idOf(raw: string | number, side?: EventSide): number | undefined;
  /** What the file calls a node. A node of either side may have the same name. */
  nameOf(id: number): string;
  /** The side whose names a node is among; null where both sides share them. */
  sideOf(id: number): EventSide | null;
}

/** Nodes whose ids in the file are their numbers plus `base`. */
export function shiftedNodes(size: number, base: 0 | 1): EventNodes {
  return {
    ...{ kind: base === 0 ? 'same' : 'shifted', size, sideOf: sharedSide },
    idOf: (raw) => {
      const id = wholeNumber(raw) - base;
      return id >= 0 && id < size ? id : undefined;
    },
    nameOf: (id) => String(checkId(id, size) + base),
  };
}

/** Nodes with the ids that are listed; those after the list are in no event and are called by `#` and their number. */
export function listedNodes(size: number, ids: Int32Array): EventNodes {
  let order: Int32Array | null = null;
  return {
    ...{ kind: 'ids', size, sideOf: sharedSide },
    idOf: (raw) => {
      const wanted = wholeNumber(raw);
      order ??= Int32Array.from(ids, (_, i) => i).sort((a, b) => ids[a] - ids[b]);
      let [low, high] = [0, order.length];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (ids[order[middle]] < wanted) low = middle + 1;
        else high = middle;
      }
      return ids[order[low]] === wanted ? order[low] : undefined;
    },
    nameOf: (id) => String(ids[checkId(id, size)] ?? `#${id}`),
  };
}

/** Nodes with names; those after the list as in `listedNodes`. */
export function namedNodes(size: number, names: readonly string[]): EventNodes {
  let numbers: Map<string, number> | null = null;
  return {
    ...{ kind: 'names', size, sideOf: sharedSide },
    idOf: (raw) => {
      numbers ??= new Map(names.map((name, id) => [name, id]));
      return numbers.get(String(raw));
    },
    nameOf: (id) => names[checkId(id, size)] ?? `#${id}`,
  };
}

/** Sources, and after them destinations, each with names of their own; what is left of `size` goes to destinations. */
export function sidedNodes(src: EventNodes, dst: EventNodes): EventNodes {
  const size = src.size + dst.size;
  return {
    ...{ kind: 'sides', size, sides: [src, dst] },
    idOf: (raw, side) => {
      if (side === 'src') return src.idOf(raw);
      const id = side === 'dst' ? dst.idOf(raw) : undefined;
      return id === undefined ? undefined : src.size + id;
    },
    nameOf: (id) => (checkId(id, size) < src.size ? src.nameOf(id) : dst.nameOf(id - src.size)),
    sideOf: (id) => (checkId(id, size) < src.size ? 'src' : 'dst'),
  };
}

const sharedSide = (): null => null;

/** NaN where it is none. */
function wholeNumber(raw: string | number): number {
  if (typeof raw === 'number') return Number.isInteger(raw) ? raw : Number.NaN;
  const text = raw.trim();
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
}

function checkId(id: number, size: number): number {
  if (!Number.isInteger(id) || id < 0 || id >= size)
    throw new ValueError(expected('nameOf', `a whole number from 0 to ${size - 1}`, 'id', id));
  return id;
}
