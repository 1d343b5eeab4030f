/** Steps that the readers of all formats share: from a file and its options to columns, and from columns to numbered events. */
import { mismatch } from '../check.js';
import type { EventColumnNames } from './csv-layout.js';
import type { EventColumns } from './event-columns.js';
import type { TemporalFormat } from './event-files.js';
import { namedNodes, sidedNodes } from './event-nodes.js';
import { type OnReadProgress, readEventTable, type TableLayout } from './event-table.js';
import { numberNodes, toEventNodes } from './node-numbers.js';
import { sortByTime } from './sort-by-time.js';
import type { TemporalData } from './temporal-data.js';

export interface ReadTemporalOptions {
  /** Default: detected from the first line. */
  readonly format?: TemporalFormat;
  /** Columns of delimited text (csv) that cannot be detected by their names. */
  readonly columns?: EventColumnNames;
  /** Whether the first line of delimited text (csv) names its columns. Default: detected. */
  readonly header?: boolean;
  /**
   * One name: both columns share ids. Two, such as user and item: each has separate ids. Default: from the column names, as
   * in `preprocess`.
   */
  readonly nodeTypes?: readonly string[];
  /** Receives notes about the header and the columns. */
  readonly onNote?: (note: string) => void;
  /** Sort events by time; without it, events out of order are an error. Equal times keep the order of the file. */
  readonly sort?: boolean;
  /** Number of nodes, if some have no event. */
  readonly numNodes?: number;
  /** Default: name of the file, or of the folder for TGL's edges.csv. */
  readonly name?: string;
  /** Called about every megabyte. */
  readonly onProgress?: OnReadProgress;
}

export interface EventInput {
  readonly path: string;
  readonly name: string;
  readonly options: ReadTemporalOptions;
}

export async function readColumns({ options }: EventInput, layout: TableLayout): Promise<EventColumns> {
  const columns = await readEventTable(layout, options.onProgress);
  if (options.sort === true) sortByTime(columns);
  return columns;
}

/** Returns the number of events out of order, if any. */
export function stepsBackOf({ stepsBack }: EventColumns): { stepsBack?: number } {
  return stepsBack === 0 ? {} : { stepsBack };
}

/** Returns ids of events if the file has them, or if sorting moved events. */
export function eventIds({ id }: EventColumns): { ids?: Int32Array } {
  return id === null ? {} : { ids: id };
}

/** Returns the number of nodes of the options; throws if it is too small. */
export function resolveNumNodes({ path, options }: EventInput, numNodes: number): number {
  if (options.numNodes !== undefined && options.numNodes < numNodes)
    mismatch(path, `at most ${options.numNodes} nodes`, numNodes);
  return options.numNodes ?? numNodes;
}

export type NumberedEvents = Pick<TemporalData, 'numNodes' | 'nodes'> &
  Pick<TemporalData['events'], 'src' | 'dst'> &
  Partial<Pick<TemporalData, 'names' | 'nodeIds'>>;

/** Returns the numbers of text ids, which the reader has assigned; those of destinations may follow the sources. */
export function numberTextIds(source: EventInput, columns: EventColumns, sided: boolean): NumberedEvents {
  const { src, srcNames, dstNames } = columns;
  const first = sided ? srcNames.list.length : 0;
  const dst = sided ? columns.dst.map((id) => id + first) : columns.dst;
  const names = sided ? [...srcNames.list, ...dstNames.list] : srcNames.list;
  const numNodes = resolveNumNodes(source, names.length);
  const nodes = sided
    ? sidedNodes(namedNodes(first, srcNames.list), namedNodes(numNodes - first, dstNames.list))
    : namedNodes(numNodes, names);
  return { src, dst, numNodes, nodes, names };
}

export function numberIds(source: EventInput, columns: EventColumns, sided: boolean): NumberedEvents {
  if (sided) return numberUsersAndItems(source, columns);
  const numbered = numberNodes(columns.src, columns.dst);
  const { src, dst, nodeIds } = numbered;
  const numNodes = resolveNumNodes(source, numbered.numNodes);
  return {
    src,
    dst,
    numNodes,
    nodes: toEventNodes(numbered, numNodes),
    ...(nodeIds === null ? {} : { nodeIds }),
  };
}

/** Numbers users and items separately, so that gaps in the ids of one do not affect the other. */
export function numberUsersAndItems(source: EventInput, columns: EventColumns): NumberedEvents {
  const none = new Int32Array(0);
  const users = numberNodes(columns.src, none);
  const items = numberNodes(columns.dst, none);
  const dst = items.src.map((item) => item + users.numNodes);
  const numNodes = resolveNumNodes(source, users.numNodes + items.numNodes);
  const nodes = sidedNodes(
    toEventNodes(users, users.numNodes),
    toEventNodes(items, numNodes - users.numNodes),
  );
  return { src: users.src, dst, numNodes, nodes };
}
