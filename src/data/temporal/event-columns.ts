/** The columns of an event file as they grow: one typed array each, all of the same capacity. */
import type { ColumnRole } from './event-table.js';

/** Columns that hold numbers. */
type NumberRole = Exclude<ColumnRole, 'type' | 'skip'>;

export class EventColumns {
  rows = 0;
  src = new Int32Array(1024);
  dst = new Int32Array(1024);
  time = new Float64Array(1024);
  label: Float32Array | null;
  id: Int32Array | null;
  part: Uint8Array | null;
  type: Int32Array | null;
  /** Words of the type column in order of appearance. */
  readonly typeNames: string[] = [];
  features = new Float32Array(0);
  /** Features of a row; −1 until the first row is complete. */
  featureWidth = -1;
  readonly #types = new Map<string, number>();
  #capacity = 1024;

  constructor(roles: readonly ColumnRole[]) {
    this.label = roles.includes('label') ? new Float32Array(1024) : null;
    this.id = roles.includes('id') ? new Int32Array(1024) : null;
    this.part = roles.includes('part') ? new Uint8Array(1024) : null;
    this.type = roles.includes('type') ? new Int32Array(1024) : null;
  }

  /** Makes room for one more row. */
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
    let number = this.#types.get(name);
    if (number === undefined) {
      number = this.#types.size;
      this.#types.set(name, number);
      this.typeNames.push(name);
    }
    (this.type as Int32Array)[this.rows] = number;
  }

  pushFeature(value: number, column: number): void {
    if (this.featureWidth >= 0 && column >= this.featureWidth) return;
    const at = this.featureWidth < 0 ? column : this.rows * this.featureWidth + column;
    if (at >= this.features.length) this.features = larger(this.features, Math.max(64, 2 * at));
    this.features[at] = value;
  }

  /** Whether a row has as many features as the first. */
  checkWidth(count: number): boolean {
    if (this.featureWidth < 0) this.featureWidth = count;
    return count === this.featureWidth;
  }

  /** Whether the row under way is not before the last. */
  get inOrder(): boolean {
    return this.rows === 0 || this.time[this.rows] >= this.time[this.rows - 1];
  }

  /** Says how the row under way goes back in time. */
  stepBack(): string {
    return `time ${this.time[this.rows]} after ${this.time[this.rows - 1]}`;
  }

  endRow(): void {
    this.rows++;
  }

  /** Cuts all columns to the rows they have. */
  finish(): void {
    this.#resize(this.rows);
    this.featureWidth = Math.max(0, this.featureWidth);
    this.features = larger(this.features, this.rows * this.featureWidth);
  }

  #resize(capacity: number): void {
    this.#capacity = capacity;
    this.src = larger(this.src, capacity);
    this.dst = larger(this.dst, capacity);
    this.time = larger(this.time, capacity);
    if (this.label !== null) this.label = larger(this.label, capacity);
    if (this.id !== null) this.id = larger(this.id, capacity);
    if (this.part !== null) this.part = larger(this.part, capacity);
    if (this.type !== null) this.type = larger(this.type, capacity);
  }
}

type Column = Int32Array | Float32Array | Float64Array | Uint8Array;

/** A copy with another length; zeros behind what was there. */
function larger<A extends Column>(array: A, length: number): A {
  const out = new (array.constructor as { new (length: number): A })(length);
  out.set(array.subarray(0, Math.min(length, array.length)));
  return out;
}
