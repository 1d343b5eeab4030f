/** Node classification in one call. */
import { join } from 'node:path';
import { isTableSource } from '../../data/formats/table-source.js';
import { preprocess, type TableSource } from '../../data/index.js';
import { isMissing } from '../../data/prepare/node-encoding.js';
import { type GraphologyGraph, isGraphology } from '../../graph/graphology.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Name, NodePredictor } from '../predictor.js';
import { writeCsv } from './csv-table.js';
import { checkInputRows, checkRow, fieldOf, nameText } from './edge-input.js';
import {
  checkFitOptions,
  checkSplit,
  type FitFolders,
  type FitRunOptions,
  fitRun,
  fitRunOptionNames,
  graphConfig,
} from './fit-run.js';

/**
 * A node: its name, its class if known, and any number of features, which are numbers, categories or booleans. Null and
 * undefined are missing values.
 */
export type NodeRecord = object;

/** A graph in memory or in files. */
export interface NodeSource {
  /** One object per node, the path of a table, or a query. */
  readonly nodes: readonly NodeRecord[] | TableSource;
  /** Pairs of names, the path of a file of edges, or a query. */
  readonly edges:
    | readonly (readonly [Name, Name] | { readonly source: Name; readonly target: Name })[]
    | TableSource;
}

export interface FitNodesOptions extends FitRunOptions {
  /** Field, column or node attribute that holds the class. Nodes without one are not trained on and can be classified. */
  readonly label: string;
  /** Field or column that holds the name of a node. Default: `id`. A graphology graph brings its own keys. */
  readonly id?: string;
  /** Fields or columns that are not features. */
  readonly ignore?: readonly string[];
  /** Fractions of the labelled nodes for training, validation and test. Default: 0.6, 0.2, 0.2. */
  readonly split?: readonly [train: number, validation: number, test: number];
}

const where = 'fitNodes';

/**
 * Trains a graph neural network on the classes of some nodes, and returns a predictor that classifies all of them by name.
 * Numbers are scaled and categories encoded. `model.metrics.test` has the metrics on held-out nodes.
 *
 * @example
 * const model = await fitNodes({ nodes: customers, edges: payments }, { label: 'segment' });
 * const [{ class: segment, probabilities }] = await model.classify(['ana']);
 * await model.close();
 */
export async function fitNodes(
  graph: NodeSource | GraphologyGraph,
  options: FitNodesOptions,
): Promise<NodePredictor> {
  checkOptionNames(where, options, {
    ...fitRunOptionNames,
    ...{ label: true, id: true, ignore: true, split: true },
  });
  checkFitOptions(where, options ?? {});
  checkSplit(where, options?.split);
  if (typeof options?.label !== 'string' || options.label === '')
    throw new ValueError(
      expected(
        where,
        'the field that holds the class',
        'label',
        options?.label,
        "Write { label: 'segment' }.",
      ),
    );
  const source = isGraphology(graph) ? graphSource(graph, options) : graph;
  if (typeof source !== 'object' || source === null)
    throw new ValueError(expected(where, 'nodes and edges, or a graphology graph', 'graph', source));
  const tables = { nodes: nodeRows(source, options), edges: edgeRows(source) };
  return fitRun(where, options, async (folders) => {
    await prepare(tables, folders, options);
    return graphConfig(folders, 'NODE_CLASSIFICATION', options);
  });
}

/** A node with its fields, once it has been checked. */
type NodeFields = Readonly<Record<string, unknown>>;

/** Rows to write, or the path of a file that is read as it is. */
interface NodeTables {
  readonly nodes: { readonly columns: readonly string[]; readonly rows: readonly NodeFields[] } | TableSource;
  readonly edges: readonly (readonly [string, string])[] | TableSource;
}

function graphSource(graph: GraphologyGraph, { id = 'id' }: FitNodesOptions): NodeSource {
  const nodes: NodeRecord[] = [];
  graph.forEachNode((node, attributes) => {
    nodes.push({ ...attributes, [id]: node });
  });
  const edges: [string, string][] = [];
  graph.forEachEdge((_edge, _attributes, source, target) => {
    edges.push([source, target]);
  });
  return { nodes, edges };
}

function nodeRows({ nodes }: NodeSource, { id = 'id', label }: FitNodesOptions): NodeTables['nodes'] {
  if (isTableSource(nodes)) return nodes;
  const rows = checkInputRows(where, 'nodes', nodes) as readonly NodeFields[];
  const names = new Set<string>();
  const columns = new Map<string, ValueKind>([[id, 'text']]);
  let labelled = 0;
  for (const [i, row] of rows.entries()) {
    checkRow(where, `nodes[${i}]`, row, {
      form: `an object with the field ${id}`,
      fields: [id],
      optional: null,
      lengths: [],
    });
    const name = nameText(where, `nodes[${i}].${id}`, row[id]);
    if (names.has(name))
      throw new ValueError(expected(where, 'different names', `nodes[${i}].${id}`, name, 'Merge the two.'));
    names.add(name);
    for (const [key, value] of Object.entries(row)) checkField(columns, `nodes[${i}]`, key, value);
    checkClass(`nodes[${i}].${label}`, row[label]);
    if (row[label] !== null && row[label] !== undefined && row[label] !== '') labelled++;
  }
  if (labelled < 3)
    throw new ValueError(
      expected(
        where,
        'at least 3 nodes with a class',
        `the field ${label} of nodes`,
        `${labelled} of ${rows.length}`,
      ),
    );
  return { columns: [...columns.keys()], rows };
}

/** The kinds of values that one field may have; `missing` until it has one. */
type ValueKind = 'missing' | 'number' | 'text' | 'boolean' | 'date';

/** Records the kind of a field; throws for a name or a value that a table cannot hold, and for mixed kinds. */
function checkField(columns: Map<string, ValueKind>, node: string, key: string, value: unknown): void {
  const known = columns.get(key);
  if (known === undefined) nameText(where, `the name of a field of ${node}`, key);
  const kind = kindOf(value);
  if (kind === null) {
    const advice = 'Give one field per value, or list the field in ignore.';
    throw new ValueError(
      expected(where, 'a number, text, boolean, Date or null', `${node}.${key}`, value, advice),
    );
  }
  if (known === undefined || known === 'missing') columns.set(key, kind);
  else if (kind !== known && kind !== 'missing' && node !== '' && columns.keys().next().value !== key)
    throw new ValueError(expected(where, `a ${known}, as in the nodes before`, `${node}.${key}`, value));
}

function kindOf(value: unknown): ValueKind | null {
  if (value === null || value === undefined || value === '') return 'missing';
  if (typeof value === 'number' || typeof value === 'bigint')
    return Number.isNaN(value) ? 'missing' : 'number';
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'boolean';
  return value instanceof Date && !Number.isNaN(value.getTime()) ? 'date' : null;
}

/** Throws for a class that a table would read as a missing one, or would change. */
function checkClass(name: string, value: unknown): void {
  const kind = kindOf(value);
  if (kind === 'missing') return;
  if (kind !== 'text' && kind !== 'number' && kind !== 'boolean')
    throw new ValueError(expected(where, 'text, a number or a boolean', name, value));
  if (kind === 'text') nameText(where, name, value);
  if (isMissing(String(value), 'number'))
    throw new ValueError(
      expected(
        where,
        'a class',
        name,
        value,
        'It stands for a missing value; rename the class, or use null.',
      ),
    );
}

function edgeRows({ edges }: NodeSource): NodeTables['edges'] {
  if (isTableSource(edges)) return edges;
  return checkInputRows(where, 'edges', edges).map((row, i) => {
    checkRow(where, `edges[${i}]`, row, {
      form: '[source, target] or an object with source and target',
      fields: ['source', 'target'],
      optional: [],
      lengths: [2],
    });
    return [
      nameText(where, `edges[${i}] source`, fieldOf(row, 'source', 0)),
      nameText(where, `edges[${i}] target`, fieldOf(row, 'target', 1)),
    ] as const;
  });
}

async function prepare(
  { nodes, edges }: NodeTables,
  folders: FitFolders,
  { id, label, ignore, split = [0.6, 0.2, 0.2], seed = 1 }: FitNodesOptions,
): Promise<void> {
  const input = join(folders.data, '..', 'input');
  const nodeTable = isTableSource(nodes)
    ? nodes
    : await writeCsv(
        join(input, 'nodes.csv'),
        nodes.columns,
        nodes.rows.map((row) => nodes.columns.map((key) => row[key])),
      );
  const edgeFile = isTableSource(edges)
    ? edges
    : await writeCsv(join(input, 'edges.csv'), ['source', 'target'], edges);
  await preprocess({
    ...{ edges: edgeFile, nodeTable, labelColumn: label, nodeSplit: split, nodeTypes: ['node'] },
    ...{ outputDir: folders.data, seed, inProcess: true },
    ...(id === undefined && isTableSource(nodes) ? {} : { idColumn: id ?? 'id' }),
    ...(ignore === undefined ? {} : { ignoreColumns: ignore }),
  });
}
