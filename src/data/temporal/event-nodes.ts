/**
 * Mapping between the node ids of a file and node numbers, for everything that reads or prints nodes.
 *
 * Ids that equal the number, or the number + 1, take no memory; ids with gaps take eight bytes per node; only names take
 * strings. If sources and destinations have separate ids in the file (JODIE's users and items), a lookup needs the side.
 */
import { expected, ValueError } from '../../util/errors.js';
import type { NameTable } from '../prepare/name-table.js';

/** The end of an event at which a node is. */
export type EventSide = 'src' | 'dst';

/** Numbers 0 … size − 1 and their ids in the file. */
export interface EventNodes extends NameTable {
  /** same: the numbers; shifted: one higher; ids: numbers with gaps; names: text; sides: two of these. */
  readonly kind: 'same' | 'shifted' | 'ids' | 'names' | 'sides';
  /** Sources and destinations, if they have separate ids. */
  readonly sides?: readonly [src: EventNodes, dst: EventNodes];
  /** Returns the node of an id; undefined if there is none, or if the sides have separate ids and none is given. */
  idOf(raw: string | number, side?: EventSide): number | undefined;
  /** Returns the id of a node in the file. A source and a destination may have the same id. */
  nameOf(id: number): string;
  /** Returns the side of a node; null if both sides share ids. */
  sideOf(id: number): EventSide | null;
}

/** Returns nodes whose ids in the file are their numbers plus `base`. */
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

/** Returns nodes with the listed ids; nodes after the list are in no event and are named `#` and their number. */
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

/** Returns nodes with names; nodes after the list as in `listedNodes`. */
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

/** Returns sources, followed by destinations, with separate ids. */
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

/** Returns the names of a stream's nodes in one table: as in its files, with `src:` or `dst:` if each side has separate ids. */
export function streamNames({ nodes }: { readonly nodes: EventNodes }): NameTable {
  if (nodes.kind !== 'sides') return nodes;
  return {
    size: nodes.size,
    nameOf: (id) => `${nodes.sideOf(id)}:${nodes.nameOf(id)}`,
    idOf: (raw) => {
      const [, side, name] = /^(src|dst):(.*)$/s.exec(raw) ?? [];
      return side === undefined ? undefined : nodes.idOf(name, side as EventSide);
    },
  };
}

const sharedSide = (): null => null;

/** Parses a whole number; returns NaN for other text. */
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
