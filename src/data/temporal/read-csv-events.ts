/** Events in delimited text of any columns, and in the edge lists of the Temporal Graph Benchmark. */
import { FormatError } from '../../util/errors.js';
import { shareTextIds } from '../formats/node-types.js';
import { csvLayout, eventFields } from './csv-layout.js';
import type { EventColumns } from './event-columns.js';
import type { FileHead } from './event-files.js';
import {
  type EventInput,
  eventIds,
  numberIds,
  numberTextIds,
  readColumns,
  resolveNumNodes,
  stepsBackOf,
} from './event-input.js';
import { type ColumnRole, type TableLayout, TextIdsFound } from './event-table.js';
import { makeTemporalData } from './make-temporal-data.js';
import type { TemporalData } from './temporal-data.js';

export async function readCsv(source: EventInput, head: FileHead): Promise<TemporalData> {
  const { path, options } = source;
  if (head.line === 0)
    return makeTemporalData({ name: source.name, ...noEvents(), numNodes: resolveNumNodes(source, 0) });
  const layout = csvLayout(path, head, options);
  const { delimiter, roles, names, hasHeader } = layout;
  let { sided } = layout;
  const table = (hasTextIds: boolean): TableLayout => ({
    ...{ path, delimiter, roles, unsorted: options.sort ?? false, free: { names, hasTextIds, sided } },
    skip: hasHeader ? head.line : head.line - 1,
  });
  let hasTextIds = false;
  let columns = await readColumns(source, table(false)).catch((error: unknown) => {
    if (!(error instanceof TextIdsFound)) throw error;
    hasTextIds = true;
    return readColumns(source, table(true));
  });
  if (hasTextIds && sided && options.nodeTypes === undefined && shareNodes(columns)) {
    sided = false;
    columns = await readColumns(source, table(true));
  }
  const { label, type, featureWidth, features, time } = columns;
  const { src, dst, ...numbered } = hasTextIds
    ? numberTextIds(source, columns, sided)
    : numberIds(source, columns, sided);
  const events = {
    ...{ src, dst, time, ...eventIds(columns), ...(type === null ? {} : { types: type }) },
    ...(featureWidth > 0 ? { features } : {}),
  };
  const namesOf = (role: ColumnRole): string[] => names.filter((name, i) => roles[i] === role && name !== '');
  return makeTemporalData({
    ...{ name: source.name, events, featureWidth, labels: label, ...numbered, ...stepsBackOf(columns) },
    ...{ typeNames: type === null ? null : columns.typeNames },
    ...(featureWidth > 0 && hasHeader ? { featureNames: namesOf('feature') } : {}),
    ...(namesOf('skip').length > 0 ? { leftOut: namesOf('skip') } : {}),
  });
}

/**
 * Reads an edge list of the Temporal Graph Benchmark: time, source, destination, then attributes. Nodes of both columns are
 * numbered in order of appearance, as the benchmark numbers them in its files of negatives. Attributes that are numbers are
 * features; others are ignored.
 */
export async function readTgb(source: EventInput, head: FileHead): Promise<TemporalData> {
  const { path, options } = source;
  const names = eventFields(head.text, 'comma');
  if (names.length < 3)
    throw new FormatError(
      `${path}:${Math.max(1, head.line)}: expected the columns time, src, dst in the header, got ${JSON.stringify(head.text.slice(0, 80))}.`,
      { path },
    );
  const first = eventFields(head.below[0] ?? '', 'comma');
  const roles = names.map((_, i): ColumnRole => {
    if (i < 3) return (['time', 'src', 'dst'] as const)[i];
    return first[i] !== undefined && first[i] !== '' && Number.isFinite(Number(first[i]))
      ? 'feature'
      : 'skip';
  });
  const columns = await readColumns(source, {
    ...{ path, delimiter: 'comma', roles, skip: head.line, unsorted: options.sort ?? false },
    free: { names, hasTextIds: true, sided: false },
  });
  const { featureWidth, features, time } = columns;
  const { src, dst, ...numbered } = numberTextIds(source, columns, false);
  const events = { src, dst, time, ...eventIds(columns), ...(featureWidth > 0 ? { features } : {}) };
  const namesOf = (role: ColumnRole): string[] => names.filter((_, i) => roles[i] === role);
  return makeTemporalData({
    ...{ name: source.name, events, featureWidth, ...numbered, ...stepsBackOf(columns) },
    ...(featureWidth > 0 ? { featureNames: namesOf('feature') } : {}),
    ...(namesOf('skip').length > 0 ? { leftOut: namesOf('skip') } : {}),
  });
}

/** Returns whether so many text ids are in both columns that they are the same nodes. */
function shareNodes({ srcNames, dstNames }: EventColumns): boolean {
  const targets = new Set(dstNames.list);
  const shared = srcNames.list.filter((name) => targets.has(name) && !/^\d+$/.test(name)).length;
  return shareTextIds(shared, Math.min(srcNames.list.length, dstNames.list.length));
}

function noEvents(): Pick<TemporalData, 'events'> {
  return { events: { src: new Int32Array(0), dst: new Int32Array(0), time: new Float64Array(0) } };
}
