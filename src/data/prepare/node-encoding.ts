/**
 * Encoding of the columns of a node table as features, saved in nodes/encoding.json of a prepared directory, so that new
 * nodes are encoded like those that the model was trained on:
 *
 *   number    (value − mean) / standard deviation over the rows of the table
 *   date      days since 1970, then as a number
 *   boolean   1 or 0
 *   category  one column per value, in order of first appearance; an unknown value is all zeros
 *
 * A missing value is 0 (the mean of a number). A column with missing values in the table is followed by an indicator column.
 */
import { z } from 'zod';
import { FormatError } from '../../util/errors.js';
import { isoSeconds } from '../formats/iso-time.js';
import { parseDecimal } from '../formats/parse-number.js';
import { parsePreparedJson } from './prepared-json.js';

const name = z.string();
const missing = z.boolean();
const scaled = { mean: z.number(), deviation: z.number().positive(), missing };
const column = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('number'), name, ...scaled }),
  z.strictObject({ kind: z.literal('date'), name, ...scaled }),
  z.strictObject({ kind: z.literal('boolean'), name, missing }),
  z.strictObject({ kind: z.literal('category'), name, values: z.array(z.string()), missing }),
]);
const encodingVersion = 1;
const schema = z.strictObject({
  format: z.literal('skein-node-encoding'),
  version: z.literal(encodingVersion),
  /** Column of ids, and that of classes. */
  id: z.string(),
  label: z.string().nullable(),
  /** Type of its nodes, if the graph has two. */
  type: z.string().optional(),
  columns: z.array(column),
});

/** Encoding of one column. */
export type EncodedColumn =
  | {
      readonly kind: 'number' | 'date';
      readonly name: string;
      readonly mean: number;
      readonly deviation: number;
      /** Whether an indicator column for missing values follows. */
      readonly missing: boolean;
    }
  | { readonly kind: 'boolean'; readonly name: string; readonly missing: boolean }
  | {
      readonly kind: 'category';
      readonly name: string;
      readonly values: readonly string[];
      readonly missing: boolean;
    };

/** Text for a missing value in columns of numbers, dates and booleans; in category columns only empty cells are missing. */
const missingText = /^(|na|n\/a|nan|null|none|\?|-)$/i;

export function isMissing(cell: string, kind: EncodedColumn['kind']): boolean {
  const text = cell.trim();
  return kind === 'category' ? text === '' : missingText.test(text);
}

/** Returns 1, 0, or NaN for text that is neither true nor false. */
export function booleanOf(cell: string): number {
  const text = cell.trim();
  if (/^(true|t|yes|y)$/i.test(text)) return 1;
  return /^(false|f|no|n)$/i.test(text) ? 0 : Number.NaN;
}

/** Parses a number, which may be infinite or too large for a double; returns NaN for other text. */
export function numberOf(cell: string): number {
  const text = cell.trim();
  const [, sign] = /^([+-]?)inf(?:inity)?$/i.exec(text) ?? [];
  if (sign === undefined) return parseDecimal(text);
  return sign === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

/** Requirement for numbers of a table, since features are f32. */
export const finiteNumber = 'a finite number within the range of f32';

export function isFiniteNumber(value: number): boolean {
  return Number.isFinite(Math.fround(value));
}

/** Returns the days since 1970, or NaN. */
export function dayOf(cell: string): number {
  return isoSeconds(cell.trim()) / 86400;
}

export class NodeEncoding {
  /** Number of features per node. */
  readonly width: number;
  /** Values that are not in the prepared table, by column. */
  readonly unseen = new Map<string, Set<string>>();
  readonly #numbers: readonly ReadonlyMap<string, number>[];

  constructor(
    readonly id: string,
    readonly label: string | null,
    readonly columns: readonly EncodedColumn[],
    /** Type of the nodes of the table; null if the graph has one type, or if each id has its type as a prefix. */
    readonly type: string | null = null,
  ) {
    this.width = columns.reduce((sum, one) => sum + widthOf(one), 0);
    this.#numbers = columns.map(
      (one) => new Map(one.kind === 'category' ? one.values.map((value, i) => [value, i]) : []),
    );
  }

  /** Writes the features of a row, given the cells of `columns`; calls `fail` for an invalid cell. */
  encode(
    cells: readonly string[],
    out: Float32Array,
    at: number,
    fail: (column: string, what: string, got: string) => never,
  ): void {
    let position = at;
    for (const [c, one] of this.columns.entries()) {
      const cell = cells[c];
      const end = position + widthOf(one);
      out.fill(0, position, end);
      if (isMissing(cell, one.kind)) {
        if (one.missing) out[end - 1] = 1;
      } else if (one.kind === 'category') {
        const number = this.#numbers[c].get(cell.trim());
        if (number === undefined) this.#remember(one.name, cell.trim());
        else out[position + number] = 1;
      } else {
        out[position] = encodeNumber(one, cell, fail);
      }
      position = end;
    }
  }

  #remember(column: string, value: string): void {
    const known = this.unseen.get(column) ?? new Set();
    if (known.size < 10) known.add(value);
    this.unseen.set(column, known);
  }

  /** Describes the columns of the features to the user. */
  describe(): string {
    return this.columns
      .map((one) => {
        const marked = one.missing ? ' + missing' : '';
        return one.kind === 'category'
          ? `${one.name} (${one.values.length} values${marked})`
          : `${one.name} (${one.kind}${marked})`;
      })
      .join(', ');
  }

  /** Returns this encoding for nodes of a type. */
  withType(type: string | null): NodeEncoding {
    return new NodeEncoding(this.id, this.label, this.columns, type);
  }

  toText(): string {
    const { id, label, columns } = this;
    const type = this.type === null ? {} : { type: this.type };
    const value = { format: 'skein-node-encoding', version: encodingVersion, id, label, ...type, columns };
    return `${JSON.stringify(value, null, 2)}\n`;
  }

  static parse(text: string, path: string): NodeEncoding {
    const parsed = schema.safeParse(parsePreparedJson(text, path));
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw new FormatError(
        `${path}: expected the encoding of a node table, version ${encodingVersion}, got ${issue.message} at ${issue.path.join('.') || 'the top'}. Prepare the directory again.`,
        { path },
      );
    }
    const { id, label, columns, type } = parsed.data;
    return new NodeEncoding(id, label, columns, type ?? null);
  }
}

function widthOf(one: EncodedColumn): number {
  return (one.kind === 'category' ? one.values.length : 1) + (one.missing ? 1 : 0);
}

function encodeNumber(
  one: Exclude<EncodedColumn, { kind: 'category' }>,
  cell: string,
  fail: (column: string, what: string, got: string) => never,
): number {
  const raw = one.kind === 'boolean' ? booleanOf(cell) : one.kind === 'date' ? dayOf(cell) : numberOf(cell);
  if (Number.isNaN(raw)) {
    const what = { boolean: 'true or false', date: 'an ISO 8601 date', number: 'a number' }[one.kind];
    return fail(one.name, what, cell);
  }
  if (one.kind === 'boolean') return raw;
  const scaled = (raw - one.mean) / one.deviation;
  // Far from the mean and with a small deviation the feature may overflow although the value does not.
  return isFiniteNumber(raw) && isFiniteNumber(scaled) ? scaled : fail(one.name, finiteNumber, cell);
}
