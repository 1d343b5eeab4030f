/** The columns of an event file as they grow: one typed array each, all of the same capacity. */
import type { ColumnRole } from './event-table.js';

/** Columns that hold numbers. */
type NumberRole = Exclude<ColumnRole, 'type' | 'skip' | 'feature'>;

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
  readonly typeNames: readonly string[];
  features = new Float32Array(0);
  /** Features of a row; −1 until the first row is complete. */
  featureWidth = -1;
  /** Words for sources and for destinations, the same object where they share them. */
  readonly srcWords = new Words();
  readonly dstWords: Words;
  /** How many events are earlier than the one above. */
  stepsBack = 0;
  readonly #types = new Words();
  #capacity = 1024;

  constructor(roles: readonly ColumnRole[], sided = false) {
    this.dstWords = sided ? new Words() : this.srcWords;
    this.typeNames = this.#types.list;
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
    (this.type as Int32Array)[this.rows] = this.#types.number(name);
  }

  setWord(side: 'src' | 'dst', word: string): void {
    if (side === 'src') this.src[this.rows] = this.srcWords.number(word);
    else this.dst[this.rows] = this.dstWords.number(word);
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
    if (!this.inOrder) this.stepsBack++;
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

/** Words with numbers in order of appearance. */
class Words {
  readonly list: string[] = [];
  readonly #numbers = new Map<string, number>();

  number(word: string): number {
    const known = this.#numbers.get(word);
    if (known !== undefined) return known;
    this.#numbers.set(word, this.list.length);
    return this.list.push(word) - 1;
  }
}

type Column = Int32Array | Float32Array | Float64Array | Uint8Array;

/** A copy with another length; zeros behind what was there. */
function larger<A extends Column>(array: A, length: number): A {
  const out = new (array.constructor as { new (length: number): A })(length);
  out.set(array.subarray(0, Math.min(length, array.length)));
  return out;
}
