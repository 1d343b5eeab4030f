/**
 * New nodes of a program, translated into numbers: features as the training data were encoded, edges by ids, in which the
 * numbers of new nodes follow those of the graph.
 */
import { meaningOf } from '../data/formats/column-names.js';
import { typedName } from '../data/formats/node-types.js';
import { type NameTable, TypedNames } from '../data/prepare/name-table.js';
import { ExtendedNames, type NewNodeColumns } from '../data/prepare/new-nodes.js';
import { isFiniteNumber, type NodeEncoding } from '../data/prepare/node-encoding.js';
import type { OpenedGraphRun } from '../train/index.js';
import { expected, ValueError } from '../util/errors.js';
import { nearest } from '../util/nearest.js';
import { newEdgeFields } from './check-questions.js';
import { encodeNewNodes, newNodeFeatures } from './encode-new-nodes.js';
import { fieldText } from './fit/csv-table.js';
import { nameText } from './fit/edge-input.js';
import type { Ability, Name, NewNodes } from './predictor.js';
import { type NodeRows, rowsOf } from './top-nodes.js';

/** New nodes with the rows that the model's encoder gives them. */
export interface EncodedNewNodes extends NodeRows {
  /** Names of the graph, followed by those of the new nodes. */
  readonly names: NameTable;
  /** Names of the new nodes. */
  readonly added: readonly string[];
}

export interface NewNodeContext {
  readonly where: Ability;
  /** Precedes `nodes` and `edges` in messages: empty, or the option with the new nodes and a dot. */
  readonly prefix: string;
  readonly names: NameTable;
  /** Returns the number of an edge's relation; null if edges have none. */
  readonly relationOf: (raw: Name | undefined) => number | null;
}

export async function readAndEncode(
  run: OpenedGraphRun,
  { nodes, edges = [] }: NewNodes,
  context: NewNodeContext,
): Promise<EncodedNewNodes> {
  const { where, prefix, names: known } = context;
  const width = newNodeFeatures(run, { command: where, option: `${prefix}nodes` });
  const encoding = await run.dataset.nodeEncoding();
  checkFields(nodes, encoding, context);
  const added = readNames(nodes, encoding, context);
  const names = new ExtendedNames(known, added, where);
  const ends = edges.flatMap((edge, i) => {
    const { source, target, relation } = newEdgeFields(edge);
    const kind = context.relationOf(relation);
    const endOf = (raw: Name, side: 'src' | 'dst'): number => {
      const id = names.idOf(String(raw), side);
      if (id !== undefined) return id;
      const what = 'a node of the graph or a new one';
      throw new ValueError(expected(where, what, `${prefix}edges[${i}]`, raw));
    };
    const [src, dst] = [endOf(source, 'src'), endOf(target, 'dst')];
    return kind === null ? [src, dst] : [src, kind, dst];
  });
  const features =
    encoding === null
      ? plainFeatures(nodes, width, context)
      : encodedFeatures(nodes, encoding, width, context);
  const numbered: NewNodeColumns = { names: added, features, edges: Int32Array.from(ends) };
  const { rows, width: encodedWidth } = await encodeNewNodes(run, numbered);
  return { rows, width: encodedWidth, names, added };
}

/** Returns the rows of nodes of the graph and of new ones. */
export async function rowsWithNew(
  run: OpenedGraphRun,
  ids: Int32Array,
  { rows: added, width, names, added: { length } }: EncodedNewNodes,
): Promise<NodeRows> {
  const first = names.size - length;
  const known = await rowsOf(
    run,
    ids.filter((id) => id < first),
  );
  const rows = new Float32Array(ids.length * width);
  let at = 0;
  for (const [i, id] of ids.entries()) {
    const [from, row] = id < first ? [known.rows, at++] : [added, id - first];
    rows.set(from.subarray(row * width, (row + 1) * width), i * width);
  }
  return { rows, width };
}

/** Throws for a field that would be ignored, and for a node without one of the columns. */
function checkFields(
  nodes: readonly object[],
  encoding: NodeEncoding | null,
  { where, prefix }: NewNodeContext,
): void {
  const id = encoding?.id ?? 'id';
  const columns = encoding?.columns.map(({ name }) => name) ?? ['features'];
  const known = new Set([id, ...columns]);
  for (const [i, node] of nodes.entries()) {
    const fields = node as Readonly<Record<string, unknown>>;
    const path = `${prefix}nodes[${i}]`;
    const missing = (name: string): boolean => fields[name] === undefined || !Object.hasOwn(fields, name);
    const absent = [...known].filter(missing);
    const without = absent.length === 0 ? '' : ` and none for ${absent.join(', ')}`;
    for (const [field, value] of Object.entries(fields)) {
      // A row of the training table may be passed as it is, without its class.
      if (known.has(field) || value === undefined || (field === encoding?.label && value === null)) continue;
      const near = nearest(field.slice(0, 100), absent.length === 0 ? [...known] : absent);
      const isId = missing(id) && (meaningOf(field) === 'id' || /(^|[_ ])id$/i.test(field));
      const hint = isId
        ? `Rename it to ${id}, the name of a node.`
        : near === undefined
          ? 'Leave it out.'
          : `Did you mean ${near}?`;
      throw new ValueError(
        `${where}: expected the fields ${[...known].join(', ')} for ${path}, got ${JSON.stringify(field.slice(0, 100))} as well${without}. ${hint}`,
      );
    }
    if (encoding !== null && absent.length > 0) {
      const advice = missing(id) ? `${id} is the name of the node.` : '';
      const nulls = columns.some(missing) ? 'Write null for a value that is unknown.' : '';
      throw new ValueError(
        `${where}: expected the fields ${[...known].join(', ')} for ${path}, got none for ${absent.join(', ')}. ${[advice, nulls].filter(Boolean).join(' ')}`,
      );
    }
  }
}

/** Returns the names of new nodes; throws for names of the graph and for those that occur twice. */
function readNames(
  nodes: readonly object[],
  encoding: NodeEncoding | null,
  { where, prefix, names }: NewNodeContext,
): string[] {
  const field = encoding?.id ?? 'id';
  const seen = new Set<string>();
  for (const [i, node] of nodes.entries()) {
    const path = `${prefix}nodes[${i}].${field}`;
    const raw = nameText(where, path, (node as Record<string, unknown>)[field]);
    const name = typedNameOf(raw, names, encoding);
    if (names.idOf(name) !== undefined)
      throw new ValueError(expected(where, 'the name of a new node', path, raw, 'The graph has it already.'));
    if (seen.has(name)) throw new ValueError(expected(where, 'different names', path, raw, 'Merge the two.'));
    seen.add(name);
  }
  return [...seen];
}

/** Returns a name as the graph has it: with the type of its table, if there are two types. */
function typedNameOf(raw: string, names: NameTable, encoding: NodeEncoding | null): string {
  if (!(names instanceof TypedNames)) return raw;
  if (names.types.some((type) => raw.startsWith(typedName(type, '')))) return raw;
  const type = encoding?.type ?? null;
  return type === null ? raw : typedName(type, raw);
}

/** Encodes fields as the node table of the graph was encoded; null is a missing value. */
function encodedFeatures(
  nodes: readonly object[],
  encoding: NodeEncoding,
  width: number,
  { where, prefix }: NewNodeContext,
): Float32Array {
  const features = new Float32Array(nodes.length * width);
  for (const [i, node] of nodes.entries()) {
    const cells = encoding.columns.map(({ name }) => fieldText((node as Record<string, unknown>)[name]));
    encoding.encode(cells, features, i * width, (column, what, got) => {
      throw new ValueError(expected(where, what, `${prefix}nodes[${i}].${column}`, got));
    });
  }
  return features;
}

/** Returns the field `features` of nodes, for a graph without a node table. */
function plainFeatures(
  nodes: readonly object[],
  width: number,
  { where, prefix }: NewNodeContext,
): Float32Array {
  const features = new Float32Array(nodes.length * width);
  for (const [i, node] of nodes.entries()) {
    const { features: given } = node as { readonly features?: unknown };
    const values: unknown[] =
      Array.isArray(given) || ArrayBuffer.isView(given) ? Array.from(given as []) : [];
    if (values.length !== width || !values.every((x) => typeof x === 'number' && isFiniteNumber(x)))
      throw new ValueError(
        expected(where, `${width} finite numbers`, `${prefix}nodes[${i}].features`, given),
      );
    features.set(values as number[], i * width);
  }
  return features;
}
