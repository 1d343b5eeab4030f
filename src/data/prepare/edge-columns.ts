/** Finds the source, relation, destination and weight columns of an edge table: as given, by header names, or by order. */
import { expected, ValueError } from '../../util/errors.js';
import { meaningOf } from '../formats/column-names.js';
import { type Column, columnIndex } from '../formats/text-layout.js';
import type { EdgeColumns } from './preprocess-options.js';

/** Indices of the four columns. */
export interface ColumnIndices {
  readonly source: number;
  readonly target: number;
  readonly type: number | null;
  readonly weight: number | null;
}

/** Returns the indices of the columns; errors list the existing columns. */
export function resolveColumns(
  name: string,
  header: readonly string[] | null,
  width: number,
  options: EdgeColumns,
): ColumnIndices {
  const have = header === null ? `${width} columns without a header` : `the columns ${header.join(', ')}`;
  const indexOf = (option: string, column: Column): number =>
    columnIndex({ path: name, header, width }, option, column);
  const { source, target, edgeType, edgeWeight } = options;
  const weight = edgeWeight === undefined ? null : indexOf('edgeWeight (--edge-weight-column)', edgeWeight);
  if (source === undefined && target === undefined && edgeType === undefined) {
    const found = detectColumns(header, width, weight);
    if (found !== null) return { ...found, weight };
    throw new ValueError(
      `${name}: expected a column for the source and one for the target of an edge, got ${have}${header === null ? '' : ', none of which has a known name'}. Set them with --src-column and --dst-column.`,
      { path: name },
    );
  }
  if (source === undefined || target === undefined) {
    const missing = source === undefined ? 'source (--src-column)' : 'target (--dst-column)';
    throw new ValueError(
      `${name}: expected a column for ${missing} too, got none. There are ${have}; set both ends of an edge, or neither.`,
      { path: name },
    );
  }
  const indices = {
    source: indexOf('source (--src-column)', source),
    target: indexOf('target (--dst-column)', target),
    type: edgeType === undefined ? null : indexOf('edgeType (--edge-type-column)', edgeType),
  };
  checkDifferent(name, options, indices);
  return { ...indices, weight };
}

function checkDifferent(
  name: string,
  { target, edgeType }: EdgeColumns,
  indices: Omit<ColumnIndices, 'weight'>,
): void {
  if (indices.source === indices.target)
    throw new ValueError(
      expected(name, 'a column other than that of sources', 'target (--dst-column)', target),
      { path: name },
    );
  if (indices.type === indices.source || indices.type === indices.target)
    throw new ValueError(
      expected(name, 'a column other than those of nodes', 'edgeType (--edge-type-column)', edgeType),
      { path: name },
    );
}

/** Finds columns by common header names; else two columns are source and target, three have the type between them. */
function detectColumns(
  header: readonly string[] | null,
  width: number,
  weight: number | null,
): Omit<ColumnIndices, 'weight'> | null {
  const all = Array.from({ length: width }, (_, i) => i).filter((i) => i !== weight);
  const meanings = all.map((i) => (header === null ? 'other' : meaningOf(header[i])));
  const only = (meaning: string): number | null => {
    const found = all.filter((_, k) => meanings[k] === meaning);
    return found.length === 1 ? found[0] : null;
  };
  const [source, target] = [only('source'), only('target')];
  if (source !== null && target !== null) {
    const between = all.filter((i, k) => meanings[k] === 'other' && source < i && i < target);
    return { source, target, type: only('relation') ?? (between.length === 1 ? between[0] : null) };
  }
  // Both ends are named, one of them by several columns: ambiguous.
  if (meanings.includes('source') && meanings.includes('target')) return null;
  const rest = all.filter((_, k) => meanings[k] !== 'weight' && meanings[k] !== 'time');
  if (rest.length === 2) return { source: rest[0], target: rest[1], type: null };
  if (rest.length === 3) return { source: rest[0], type: rest[1], target: rest[2] };
  return null;
}

/** Returns a note for the user about unused columns; null if all are used. */
export function unusedColumnsNote(
  name: string,
  header: readonly string[] | null,
  indices: ColumnIndices,
): string | null {
  const used: readonly (number | null)[] = Object.values(indices);
  const unused = (header ?? []).filter((column, i) => !used.includes(i) && column !== '');
  if (unused.length === 0) return null;
  const weight = unused.find((column) => meaningOf(column) === 'weight');
  const advice = weight === undefined ? '' : ` (--edge-weight-column ${weight} keeps weights)`;
  return `${name}: unused columns: ${unused.join(', ')}${advice}`;
}
