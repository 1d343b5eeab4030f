/** Columns of the node table that features were encoded from, with their missing values. */
import type { RowReader } from '../../storage/index.js';
import type { OpenedGraphRun } from '../../train/index.js';

export interface ColumnFacts {
  readonly name: string;
  readonly kind: 'number' | 'date' | 'boolean' | 'category';
  /** Nodes without a value. */
  readonly missing: number;
  /** Different values of a category; null for other kinds. */
  readonly values: number | null;
}

/** Rows that are read together. */
const chunk = 65_536;

/** Returns no column for features that did not come from a table. */
export async function columnFacts({ dataset, storage }: OpenedGraphRun): Promise<ColumnFacts[]> {
  const encoding = await dataset.nodeEncoding();
  const { features } = storage;
  if (encoding === null || features === null || features.width !== encoding.width) return [];
  let end = 0;
  const columns = encoding.columns.map((column) => {
    const values = column.kind === 'category' ? column.values.length : null;
    end += (values ?? 1) + (column.missing ? 1 : 0);
    // The indicator of missing values is the last column of the encoding.
    return { name: column.name, kind: column.kind, values, indicator: column.missing ? end - 1 : -1 };
  });
  const counts = await countOnes(
    features,
    columns.map(({ indicator }) => indicator),
  );
  return columns.map(({ name, kind, values }, i) => ({ name, kind, values, missing: counts[i] }));
}

/** Counts the rows in which a column is 1, for each of some columns; −1 stands for a column that never is. */
async function countOnes(features: RowReader<Float32Array>, columns: readonly number[]): Promise<number[]> {
  const counts = columns.map(() => 0);
  const marked = [...columns.keys()].filter((i) => columns[i] >= 0);
  if (marked.length === 0) return counts;
  const { rows, width } = features;
  for (let start = 0; start < rows; start += chunk) {
    const count = Math.min(chunk, rows - start);
    const values = await features.range(start, count);
    for (let row = 0; row < count; row++)
      for (const i of marked) if (values[row * width + columns[i]] === 1) counts[i]++;
  }
  return counts;
}
