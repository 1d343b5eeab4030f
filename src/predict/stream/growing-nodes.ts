/** Names and destinations of a stream that gets new nodes: those of the training stream, followed by those of later events. */
import type { EventNodes, EventSide } from '../../data/temporal/event-nodes.js';
import { FormatError } from '../../util/errors.js';

/** Names of the training stream, and new ones in the order in which their events were released. */
export class GrowingNodes implements EventNodes {
  readonly kind: EventNodes['kind'];
  readonly #base: EventNodes;
  readonly #names: string[] = [];
  readonly #sides: EventSide[] = [];
  readonly #numbers = new Map<string, number>();

  constructor(base: EventNodes) {
    this.#base = base;
    this.kind = base.kind;
  }

  get size(): number {
    return this.#base.size + this.#names.length;
  }

  get numAdded(): number {
    return this.#names.length;
  }

  /** New names with their sides, in the order of their numbers. */
  get added(): readonly (readonly [string, EventSide])[] {
    return this.#names.map((name, i) => [name, this.#sides[i]]);
  }

  idOf(raw: string | number, side?: EventSide): number | undefined {
    return (
      this.#base.idOf(raw, side) ??
      (side === undefined && this.kind === 'sides' ? undefined : this.#numbers.get(this.key(raw, side)))
    );
  }

  nameOf(id: number): string {
    return this.#names[id - this.#base.size] ?? this.#base.nameOf(id);
  }

  sideOf(id: number): EventSide | null {
    if (id < this.#base.size) return this.#base.sideOf(id);
    return this.kind === 'sides' ? this.#sides[id - this.#base.size] : null;
  }

  /** Adds the new names of a snapshot. Each must get the next number: events are saved by numbers. */
  restore(names: readonly (readonly [string, EventSide])[]): void {
    for (const [name, side] of names) {
      const next = this.size;
      const number = this.numberOf(name, side);
      if (number !== next)
        throw new FormatError(
          `stream: expected a new name for node ${next} of the snapshot, got ${JSON.stringify(name)}, which is node ${number}.`,
        );
    }
  }

  /** Returns the node of a name, which gets the next number if it is new. */
  numberOf(name: string, side: EventSide): number {
    const known = this.idOf(name, side);
    if (known !== undefined) return known;
    const number = this.size;
    this.#names.push(this.#plain(name, side));
    this.#sides.push(side);
    this.#numbers.set(this.key(name, side), number);
    return number;
  }

  /** Returns what tells names apart: two spellings of a number are one name where nodes have numbers. */
  key(raw: string | number, side: EventSide | undefined): string {
    const name = this.#plain(String(raw), side);
    return this.kind === 'sides' ? `${side} ${name}` : name;
  }

  /** Returns a number without leading zeros where the nodes of the side have numbers; text stays as it is. */
  #plain(name: string, side: EventSide | undefined): string {
    const { kind, sides } = this.#base;
    const kindOfSide = sides?.[side === 'dst' ? 1 : 0].kind ?? kind;
    const text = name.trim();
    return kindOfSide !== 'names' && /^\d{1,15}$/.test(text) ? String(Number(text)) : name;
  }
}

/** Destinations of the stream, in the order in which they first were one. */
export class DestinationPool {
  #nodes: Int32Array;
  #count: number;
  /** Rows at which destinations after the first `base` ones were added. */
  readonly #rows: number[] = [];
  readonly #base: number;
  readonly #present: Set<number>;

  constructor(base: Int32Array) {
    this.#nodes = base.slice();
    this.#count = base.length;
    this.#base = base.length;
    this.#present = new Set(base);
  }

  get nodes(): Int32Array {
    return this.#nodes.subarray(0, this.#count);
  }

  /** Adds the destination of an event of the stream. */
  add(node: number, row: number): void {
    if (this.#present.has(node)) return;
    this.#present.add(node);
    if (this.#count === this.#nodes.length) {
      const grown = new Int32Array(Math.max(16, 2 * this.#count));
      grown.set(this.#nodes);
      this.#nodes = grown;
    }
    this.#nodes[this.#count++] = node;
    this.#rows.push(row);
  }

  /** Destinations after the first ones, and the rows at which they were added. */
  save(): { readonly nodes: Int32Array; readonly rows: Int32Array } {
    return { nodes: this.nodes.slice(this.#base), rows: Int32Array.from(this.#rows) };
  }

  /** Replaces the destinations after the first ones. */
  load({ nodes, rows }: { readonly nodes: Int32Array; readonly rows: Int32Array }): void {
    for (const node of this.nodes.subarray(this.#base)) this.#present.delete(node);
    this.#count = this.#base;
    this.#rows.length = 0;
    for (const [i, node] of nodes.entries()) this.add(node, rows[i]);
  }

  /** Returns how many destinations there were before a row. */
  countBefore(row: number): number {
    let [low, high] = [0, this.#rows.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#rows[middle] < row) low = middle + 1;
      else high = middle;
    }
    return this.#base + low;
  }
}
