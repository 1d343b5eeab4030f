/** Link prediction and knowledge-graph embeddings in one call. */

import { isTableSource } from '../../data/formats/table-source.js';
import { preprocess, type TableSource } from '../../data/index.js';
import { prepareGraph } from '../../data/prepare/prepare-graph.js';
import { type GraphologyGraph, isGraphology } from '../../graph/graphology.js';
import type { Output } from '../../train/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { timeSpan } from '../../util/schema/fields.js';
import type { LinkPredictor, Name } from '../predictor.js';
import { checkInputRows, checkRow, fieldOf, NameIds, nameText } from './edge-input.js';
import {
  checkFitOptions,
  checkSplit,
  type FitFolders,
  type FitRunOptions,
  fitRun,
  fitRunOptionNames,
  graphConfig,
} from './fit-run.js';

/** An edge as a tuple: `[head, relation, tail]`, or `[head, tail]` in a graph with one kind of edge. */
export type LinkTuple = readonly [head: Name, relation: Name, tail: Name] | readonly [head: Name, tail: Name];

/** An edge as an object. */
export interface LinkRecord {
  readonly head: Name;
  readonly relation?: Name;
  readonly tail: Name;
}

/** Edges in memory, a graphology graph, or files and queries: one to split, or training, (validation) and test. */
export type LinkSource =
  | readonly (LinkTuple | LinkRecord)[]
  | GraphologyGraph
  | TableSource
  | readonly TableSource[];

export interface FitLinksOptions extends FitRunOptions {
  /** Fractions of the edges for training, validation and test. Default: 0.9, 0.05, 0.05. */
  readonly split?: readonly [train: number, validation: number, test: number];
  /** Edge attribute of a graphology graph that holds the relation. Default: edges have no relation. */
  readonly relation?: string;
  /** Columns of a file, by name or index. Default: common names such as head, source or user; else by position. */
  readonly columns?: { readonly head: Column; readonly relation?: Column; readonly tail: Column };
  /** Whether the first line of a file names its columns. Default: detected. */
  readonly header?: boolean;
  /**
   * Training time, for example '10m', '45s' or '1.5h': sizes are chosen for it, and training ends within it. Default: sizes
   * for about 30 minutes on two cores, and no limit. The number of epochs then depends on the machine.
   */
  readonly time?: string;
}

type Column = string | number;

const where = 'fitLinks';

/**
 * Learns embeddings of the nodes and relations of a graph, and returns a predictor that scores and ranks edges by name.
 * `model.metrics.test` has the metrics on held-out edges.
 *
 * @example
 * const model = await fitLinks([['aspirin', 'treats', 'headache'], ['ibuprofen', 'treats', 'fever'], …]);
 * const [answers] = await model.rank([{ head: 'aspirin', relation: 'treats' }], { k: 3 });
 * await model.close();
 */
export async function fitLinks(edges: LinkSource, options: FitLinksOptions = {}): Promise<LinkPredictor> {
  checkOptionNames(where, options, {
    ...fitRunOptionNames,
    ...{ split: true, relation: true, columns: true, header: true, time: true },
  });
  checkFitOptions(where, options);
  checkSplit(where, options.split);
  const time = options.time === undefined ? undefined : checkTime(options.time);
  const files = fileNames(edges);
  if (options.relation !== undefined && !isGraphology(edges))
    throw new ValueError(
      expected(where, 'a graphology graph', 'edges with the option relation', edges, 'Leave relation out.'),
    );
  if (files === null && (options.columns ?? options.header) !== undefined)
    throw new ValueError(
      expected(
        where,
        'the path of a file',
        'edges with the option columns or header',
        edges,
        'Leave it out.',
      ),
    );
  const columns = files === null ? readColumns(edges as RowSource, options.relation) : null;
  return fitRun(where, options, async (folders, output) => {
    if (columns === null) await prepareFiles(files as TableSource[], folders, options, output);
    else await prepareColumns(columns, folders, options);
    return graphConfig(folders, 'LINK_PREDICTION', options, time);
  });
}

/** Returns the seconds of a time span; throws unless it is one. */
function checkTime(time: unknown): number {
  const parsed = timeSpan().safeParse(time);
  if (typeof time !== 'string' || !parsed.success)
    throw new ValueError(expected(where, "a time span such as '30m', '45s' or '1.5h'", 'time', time));
  return parsed.data;
}

/** Each of the three splits needs an edge. */
const fewest = 20;

const edgeForm = {
  form: '[head, relation, tail], [head, tail] or an object with head and tail',
  fields: ['head', 'tail'],
  optional: ['relation'],
  lengths: [2, 3],
};

interface LinkColumns {
  readonly nodes: NameIds;
  readonly relations: NameIds | null;
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly rel: Int32Array | null;
}

/** Returns the files and queries; null for edges in memory. */
function fileNames(edges: LinkSource): TableSource[] | null {
  if (isTableSource(edges)) return [edges];
  return Array.isArray(edges) && edges.length > 0 && edges.every(isTableSource) ? [...edges] : null;
}

/** Edges that are not in files. */
type RowSource = readonly (LinkTuple | LinkRecord)[] | GraphologyGraph;

function readColumns(edges: RowSource, attribute: string | undefined): LinkColumns {
  const rows = isGraphology(edges) ? graphRows(edges, attribute) : checkInputRows(where, 'edges', edges);
  const typed = relationOf(rows[0]) !== undefined;
  const nodes = new NameIds();
  const relations = typed ? new NameIds() : null;
  const src = new Int32Array(rows.length);
  const dst = new Int32Array(rows.length);
  const rel = typed ? new Int32Array(rows.length) : null;
  for (const [i, row] of rows.entries()) {
    checkRow(where, `edges[${i}]`, row, edgeForm);
    const relation = relationOf(row);
    if ((relation !== undefined) !== typed)
      throw new ValueError(
        expected(
          ...[where, typed ? 'a relation' : 'no relation', `edges[${i}]`],
          ...[relation ?? 'none', 'Give all edges a relation, or none.'],
        ),
      );
    src[i] = nodes.idOf(nameText(where, `edges[${i}] head`, fieldOf(row, 'head', 0)));
    dst[i] = nodes.idOf(nameText(where, `edges[${i}] tail`, fieldOf(row, 'tail', typed ? 2 : 1)));
    if (relations !== null && rel !== null)
      rel[i] = relations.idOf(nameText(where, `edges[${i}] relation`, relation));
  }
  if (rows.length < fewest)
    throw new ValueError(
      expected(where, `at least ${fewest} edges to learn from and to test on`, 'edges', rows.length),
    );
  return { nodes, relations, src, dst, rel };
}

/** The relation of a row: the middle of three entries, or the field; undefined without one. */
function relationOf(row: unknown): unknown {
  if (Array.isArray(row)) return row.length === 3 ? row[1] : undefined;
  return fieldOf(row, 'relation', 1);
}

function graphRows(graph: GraphologyGraph, attribute: string | undefined): readonly unknown[] {
  const rows: unknown[] = [];
  graph.forEachEdge((_edge, attributes, head, tail) => {
    if (attribute !== undefined && attributes[attribute] === undefined)
      throw new ValueError(
        `${where}: expected the attribute ${attribute} on every edge (relation), got an edge from ${head} to ${tail} with ${Object.keys(attributes).join(', ') || 'none'}.`,
      );
    rows.push(attribute === undefined ? [head, tail] : [head, attributes[attribute], tail]);
  });
  return checkInputRows(where, 'the edges of the graph', rows);
}

const defaultSplit = [0.9, 0.05, 0.05] as const;

async function prepareColumns(
  { nodes, relations, src, dst, rel }: LinkColumns,
  { data }: FitFolders,
  { split = defaultSplit, seed = 1 }: FitLinksOptions,
): Promise<void> {
  await prepareGraph([{ src, dst, ...(rel === null ? {} : { relations: rel }) }], {
    ...{ outputDir: data, numNodes: nodes.names.length, nodeNames: nodes.names, split, seed },
    ...(relations === null ? {} : { numRelations: relations.names.length, relationNames: relations.names }),
  });
}

async function prepareFiles(
  files: TableSource[],
  { data }: FitFolders,
  { split = defaultSplit, seed = 1, columns, header }: FitLinksOptions,
  output: Output,
): Promise<void> {
  await preprocess(
    {
      ...{ edges: files, outputDir: data, seed, inProcess: true },
      ...(files.length === 1 ? { split } : {}),
      ...(header === undefined ? {} : { header }),
      ...(columns === undefined ? {} : { source: columns.head, target: columns.tail }),
      ...(columns?.relation === undefined ? {} : { edgeType: columns.relation }),
    },
    () => {},
    { onNote: (note) => output.note(note) },
  );
}
