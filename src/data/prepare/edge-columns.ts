/** Which columns of a table of edges are source, relation, destination and weight: as told, by the names in the header, by place. */
import { expected, ValueError } from '../../util/errors.js';
import { meaningOf } from '../formats/column-names.js';
import { type Column, columnIndex } from '../formats/text-layout.js';
import type { EdgeColumns } from './preprocess-options.js';

/** Where the four columns are. */
export interface Places {
  readonly source: number;
  readonly target: number;
  readonly type: number | null;
  readonly weight: number | null;
}

/** Where the columns are; those that are missing are named with those that are there. */
export function resolvePlaces(
  name: string,
  header: readonly string[] | null,
  width: number,
  options: EdgeColumns,
): Places {
  const have = header === null ? `${width} columns without a header` : `the columns ${header.join(', ')}`;
  const place = (option: string, column: Column): number =>
    columnIndex({ path: name, header, width }, option, column);
  const { source, target, edgeType, edgeWeight } = options;
  const weight = edgeWeight === undefined ? null : place('edgeWeight (--edge-weight-column)', edgeWeight);
  if (source === undefined && target === undefined && edgeType === undefined) {
    const found = usualPlaces(header, width, weight);
    if (found !== null) return { ...found, weight };
    throw new ValueError(
      `${name}: expected a column for the source and one for the target of an edge, got ${have}${header === null ? '' : ', whose names do not say it'}. Name them with --src-column and --dst-column.`,
      { path: name },
    );
  }
  if (source === undefined || target === undefined) {
    const missing = source === undefined ? 'source (--src-column)' : 'target (--dst-column)';
    throw new ValueError(
      `${name}: expected a column for ${missing} too, got none. There are ${have}; name both ends of an edge, or none of the columns.`,
      { path: name },
    );
  }
  const places = {
    source: place('source (--src-column)', source),
    target: place('target (--dst-column)', target),
    type: edgeType === undefined ? null : place('edgeType (--edge-type-column)', edgeType),
  };
  checkDifferent(name, options, places);
  return { ...places, weight };
}

function checkDifferent(
  name: string,
  { target, edgeType }: EdgeColumns,
  places: Omit<Places, 'weight'>,
): void {
  if (places.source === places.target)
    throw new ValueError(
      expected(name, 'another column than that of sources', 'target (--dst-column)', target),
      { path: name },
    );
  if (places.type === places.source || places.type === places.target)
    throw new ValueError(
      expected(name, 'another column than those of nodes', 'edgeType (--edge-type-column)', edgeType),
      { path: name },
    );
}

/** By the names in the header where these are usual; else two columns are source and target, three have the type between. */
function usualPlaces(
  header: readonly string[] | null,
  width: number,
  weight: number | null,
): Omit<Places, 'weight'> | null {
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
  // Names for both ends, and more than one for an end: which is meant cannot be told.
  if (meanings.includes('source') && meanings.includes('target')) return null;
  const rest = all.filter((_, k) => meanings[k] !== 'weight' && meanings[k] !== 'time');
  if (rest.length === 2) return { source: rest[0], target: rest[1], type: null };
  if (rest.length === 3) return { source: rest[0], type: rest[1], target: rest[2] };
  return null;
}

/** What is said about columns that are not used, for people; null when all are. */
export function leftOutNote(name: string, header: readonly string[] | null, places: Places): string | null {
  const used: readonly (number | null)[] = Object.values(places);
  const left = (header ?? []).filter((column, i) => !used.includes(i) && column !== '');
  if (left.length === 0) return null;
  const weight = left.find((column) => meaningOf(column) === 'weight');
  const advice = weight === undefined ? '' : ` (--edge-weight-column ${weight} keeps weights)`;
  return `${name}: columns left out: ${left.join(', ')}${advice}`;
}
