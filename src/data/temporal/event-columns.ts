/** The growing columns of an event file: one typed array each, all of the same capacity. */
import type { ColumnRole } from './event-table.js';

/** Roles of columns of numbers. */
type NumberRole = Exclude<ColumnRole, 'type' | 'skip' | 'feature'>;

export class EventColumns {
  rows = 0;
  src = new Int32Array(1024);
  dst = new Int32Array(1024);
  time = new Float64Array(1024);
  label: Float32Array | null;
  id: Int32Array | null;
  split: Uint8Array | null;
  type: Int32Array | null;
  /** Values of the type column in order of appearance. */
  readonly typeNames: readonly string[];
  features = new Float32Array(0);
  /** Features per row; −1 until the first row is complete. */
  featureWidth = -1;
  /** Text ids of sources and destinations; the same object if they share ids. */
  readonly srcNames = new NameList();
  readonly dstNames: NameList;
  /** Number of events that are earlier than the preceding one. */
  stepsBack = 0;
  readonly #types = new NameList();
  #capacity = 1024;

  constructor(roles: readonly ColumnRole[], sided = false) {
    this.dstNames = sided ? new NameList() : this.srcNames;
    this.typeNames = this.#types.list;
    this.label = roles.includes('label') ? new Float32Array(1024) : null;
    this.id = roles.includes('id') ? new Int32Array(1024) : null;
    this.split = roles.includes('split') ? new Uint8Array(1024) : null;
    this.type = roles.includes('type') ? new Int32Array(1024) : null;
  }

  /** Reserves space for another row. */
  startRow(): void {
    if (this.rows === this.#capacity) this.#resize(2 * this.#capacity);
  }

  set(role: NumberRole, value: number): void {
    switch (role) {
      case 'src':
        this.src[this.rows] = value;
        break;
      case 'dst':
        this.dst[this.rows] = value;
        break;
      case 'time':
        this.time[this.rows] = value;
        break;
      default:
        (this[role] as Float32Array)[this.rows] = value;
    }
  }

  setType(name: string): void {
    (this.type as Int32Array)[this.rows] = this.#types.number(name);
  }

  setName(side: 'src' | 'dst', name: string): void {
    if (side === 'src') this.src[this.rows] = this.srcNames.number(name);
    else this.dst[this.rows] = this.dstNames.number(name);
  }

  pushFeature(value: number, column: number): void {
    if (this.featureWidth >= 0 && column >= this.featureWidth) return;
    const at = this.featureWidth < 0 ? column : this.rows * this.featureWidth + column;
    if (at >= this.features.length) this.features = resize(this.features, Math.max(64, 2 * at));
    this.features[at] = value;
  }

  /** Returns whether a row has as many features as the first. */
  checkWidth(count: number): boolean {
    if (this.featureWidth < 0) this.featureWidth = count;
    return count === this.featureWidth;
  }

  /** Whether the current row is not earlier than the preceding one. */
  get isInOrder(): boolean {
    return this.rows === 0 || this.time[this.rows] >= this.time[this.rows - 1];
  }

  /** Describes how the current row goes back in time. */
  describeStepBack(): string {
    return `time ${this.time[this.rows]} after ${this.time[this.rows - 1]}`;
  }

  endRow(): void {
    if (!this.isInOrder) this.stepsBack++;
    this.rows++;
  }

  /** Truncates all columns to their rows. */
  finish(): void {
    this.#resize(this.rows);
    this.featureWidth = Math.max(0, this.featureWidth);
    this.features = resize(this.features, this.rows * this.featureWidth);
  }

  #resize(capacity: number): void {
    this.#capacity = capacity;
    this.src = resize(this.src, capacity);
    this.dst = resize(this.dst, capacity);
    this.time = resize(this.time, capacity);
    if (this.label !== null) this.label = resize(this.label, capacity);
    if (this.id !== null) this.id = resize(this.id, capacity);
    if (this.split !== null) this.split = resize(this.split, capacity);
    if (this.type !== null) this.type = resize(this.type, capacity);
  }
}

/** Names, numbered in order of appearance. */
class NameList {
  readonly list: string[] = [];
  readonly #numbers = new Map<string, number>();

  number(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#numbers.set(name, this.list.length);
    return this.list.push(name) - 1;
  }
}

type Column = Int32Array | Float32Array | Float64Array | Uint8Array;

/** Returns a copy with another length, padded with zeros. */
function resize<A extends Column>(array: A, length: number): A {
  const out = new (array.constructor as { new (length: number): A })(length);
  out.set(array.subarray(0, Math.min(length, array.length)));
  return out;
}
