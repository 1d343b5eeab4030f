/** The files of table-files.ts: their layout is known, so nothing about it is detected. */

/** Ending of the files. */
export const tableEnding = '.skein-table';

/** The layout of a file: commas, a header, no comments. */
const layout = { header: true, delimiter: ',', comment: '' } as const;

/** Returns the layout of a file of table-files.ts; null for other files. */
export function tableLayout(path: string): typeof layout | null {
  return path.endsWith(tableEnding) ? layout : null;
}
