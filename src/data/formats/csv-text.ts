/** Tables as CSV text (RFC 4180): the form in which tables of other formats are stored before they are read. */

/** Returns a CSV field, quoted if necessary. */
export function csvField(text: string, delimiter: string): string {
  return text.includes(delimiter) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Some rows of a table; null is a missing value. */
export type RowBlock = readonly (readonly (string | null)[])[];

/** Yields a header and rows. A quoted field keeps its blanks, a missing value is an empty field. */
export async function* csvText(
  columns: readonly string[],
  blocks: AsyncIterable<RowBlock> | Iterable<RowBlock>,
): AsyncGenerator<string> {
  yield `${columns.map(exactField).join(',')}\n`;
  for await (const rows of blocks) {
    let text = '';
    for (const row of rows) text += `${row.map(exactField).join(',')}\n`;
    if (text !== '') yield text;
  }
}

function exactField(value: string | null): string {
  if (value === null || value === '') return '';
  return /^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : csvField(value, ',');
}
