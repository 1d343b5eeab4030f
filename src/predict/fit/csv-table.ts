/** Writes rows of a program as a CSV file, which is read like any other. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { csvField } from '../../data/formats/csv-text.js';

/** Writes a header and rows, and returns the path. Missing values are empty fields; line breaks become blanks. */
export async function writeCsv(
  path: string,
  header: readonly string[],
  rows: readonly (readonly unknown[])[],
): Promise<string> {
  const line = (fields: readonly unknown[]): string =>
    `${fields.map((field) => csvField(fieldText(field).replace(/[\r\n]+/g, ' '), ',')).join(',')}\n`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, [line(header), ...rows.map(line)].join(''));
  return path;
}

/** Returns a value as the text of a cell. */
export function fieldText(field: unknown): string {
  return field instanceof Date ? field.toISOString() : String(field ?? '');
}
