/** Edges and events as programs have them: tuples, objects or a graphology graph, checked and turned into columns. */
import { describe, expected, ValueError } from '../../util/errors.js';

/** Line breaks, and halves of surrogate pairs, which do not survive in UTF-8. */
const unwritable = /[\r\n]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** Returns a name as text. Line breaks and blanks at the ends would not survive in files, so they are rejected. */
export function nameText(where: string, what: string, value: unknown): string {
  const text = typeof value === 'number' && Number.isFinite(value) ? String(value) : value;
  if (typeof text === 'string' && text !== '' && text.trim() === text && !unwritable.test(text)) return text;
  throw new ValueError(
    expected(where, 'a number, or text without line breaks and surrounding spaces', what, value),
  );
}

/** Throws unless `value` is an array with at least one entry. */
export function checkInputRows(where: string, name: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value))
    throw new ValueError(expected(where, 'an array, a graphology graph or the path of a file', name, value));
  if (value.length === 0) throw new ValueError(expected(where, 'at least one entry', name, 'an empty array'));
  return value;
}

/** Reads field `key` of an object, or entry `index` of a tuple. */
export function fieldOf(row: unknown, key: string, index: number): unknown {
  if (Array.isArray(row)) return row[index];
  return typeof row === 'object' && row !== null ? (row as Record<string, unknown>)[key] : undefined;
}

/** Numbers names in order of first appearance. */
export class NameIds {
  readonly names: string[] = [];
  readonly #ids = new Map<string, number>();

  idOf(name: string): number {
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    this.#ids.set(name, this.names.length);
    return this.names.push(name) - 1;
  }
}

/** The accepted forms of a row: lengths of tuples, and required fields of objects. */
export interface RowForm {
  readonly form: string;
  readonly fields: readonly string[];
  /** Fields that objects may have too; null: any. */
  readonly optional: readonly string[] | null;
  readonly lengths: readonly number[];
}

/** Throws unless `row` is a tuple, or an object with the required fields. Unknown fields would be ignored, so they are errors. */
export function checkRow(
  where: string,
  name: string,
  row: unknown,
  { form, fields, optional, lengths }: RowForm,
): void {
  if (Array.isArray(row)) {
    if (lengths.includes(row.length)) return;
    throw new ValueError(`${where}: expected ${form} for ${name}, got ${row.length} entries.`);
  }
  if (typeof row === 'object' && row !== null) {
    const keys = Object.keys(row);
    const known = [...fields, ...(optional ?? [])];
    const unknown = optional === null ? undefined : keys.find((key) => !known.includes(key));
    if (unknown === undefined && fields.every((field) => Object.hasOwn(row, field))) return;
    const advice =
      unknown === undefined ? '' : ` Fields that are used: ${known.join(', ')}; leave out ${unknown}.`;
    throw new ValueError(
      `${where}: expected ${form} for ${name}, got the fields ${keys.join(', ')}.${advice}`,
    );
  }
  throw new ValueError(`${where}: expected ${form} for ${name}, got ${describe(row)}.`);
}
