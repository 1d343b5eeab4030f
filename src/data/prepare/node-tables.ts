/** Combines the node files with the numbers of the nodes: features, classes and splits for `writePrepared`. */
import { closeSync, openSync } from 'node:fs';
import { FormatError, InternalError } from '../../util/errors.js';
import { Random } from '../../util/philox.js';
import type { NodeSplits } from '../node-data.js';
import { randomNodeSplit } from '../transforms.js';
import { bytesOf, readAt } from './binary-file.js';
import type { FeatureBlock, NodeTables, OnNote } from './graph-source.js';
import type { NumberedNames } from './name-numbers.js';
import { numberClasses, withoutClassNote } from './node-classes.js';
import type { NodeEncoding } from './node-encoding.js';
import type { NameSegment, NodeInput } from './node-input.js';
import { NodeText } from './node-text.js';
import { npyBlocks } from './npy-rows.js';
import type { TextInput } from './text-input.js';

/** Returns the tables of all nodes; null if there are no node files. */
export async function makeNodeTables(
  input: NodeInput,
  options: TextInput,
  numbered: NumberedNames,
  numNodes: number,
  note: OnNote,
): Promise<NodeTables | null> {
  const { features, labels, text, splits } = input;
  if ([features, labels, text, splits].every((one) => one === null)) return null;
  const idsOf = (segment: NameSegment): Int32Array => readIds(numbered.idsPath, segment);
  for (const segment of [features?.segment, labels?.segment, text?.segment])
    if (segment !== undefined) await checkUnique(segment, idsOf(segment), numbered, numNodes);
  if (features?.complete) await checkComplete(features.segment, idsOf(features.segment), numbered, numNodes);
  const classes = labels === null ? null : numberClasses(labels, idsOf(labels.segment), numNodes);
  if (labels !== null && classes !== null) {
    const classNote = withoutClassNote(labels.segment.path, classes, labels.inTable);
    if (classNote !== null) note(classNote);
  }
  return {
    features:
      features === null
        ? null
        : { width: features.width, blocks: () => featureBlocks(features, input.encoding, idsOf, numNodes) },
    labels: classes?.labels ?? null,
    numClasses: classes?.numClasses ?? 0,
    classNames: classes?.classNames ?? null,
    splits: nodeSplits(options, splits, classes?.labels ?? null, idsOf),
    text: text === null ? null : nodeText(text, idsOf(text.segment), numNodes),
  };
}

/** Returns the words of all nodes; nodes without a row of the table have none. */
function nodeText(
  { columns, rows }: NonNullable<NodeInput['text']>,
  ids: Int32Array,
  numNodes: number,
): NodeText {
  const none = columns.map(() => '');
  const rowOf = new Int32Array(numNodes).fill(-1);
  for (const [row, id] of ids.entries()) rowOf[id] = row;
  return NodeText.build(columns, numNodes, (node) => (rowOf[node] < 0 ? none : rows[rowOf[node]]));
}

function readIds(path: string, { start, rows }: NameSegment): Int32Array {
  const ids = new Int32Array(rows);
  const file = openSync(path, 'r');
  try {
    if (!readAt(file, bytesOf(ids), 4 * start)) throw new InternalError(`${path}: expected ${rows} more ids`);
  } finally {
    closeSync(file);
  }
  return ids;
}

/** Finds the name of a number by a linear search, for messages. */
async function nameOf(numbered: NumberedNames, id: number): Promise<string> {
  let before = 0;
  for await (const block of numbered.names() ?? []) {
    if (id < before + block.length) return block[id - before];
    before += block.length;
  }
  return String(id);
}

async function checkUnique(
  { path, lines }: NameSegment,
  ids: Int32Array,
  numbered: NumberedNames,
  numNodes: number,
): Promise<void> {
  const seen = new Uint8Array(numNodes);
  for (const [row, id] of ids.entries()) {
    if (seen[id] === 1) {
      const where = lines === null ? path : `${path}:${lines[row]}`;
      throw new FormatError(
        `${where}: expected each node once, got ${JSON.stringify(await nameOf(numbered, id))} twice.`,
        { path, ...(lines === null ? {} : { line: lines[row] }) },
      );
    }
    seen[id] = 1;
  }
}

/** Throws unless each node has a row of features. */
async function checkComplete(
  { path }: NameSegment,
  ids: Int32Array,
  numbered: NumberedNames,
  numNodes: number,
): Promise<void> {
  const seen = new Uint8Array(numNodes);
  for (const id of ids) seen[id] = 1;
  const first = seen.indexOf(0);
  if (first < 0) return;
  const missing = seen.reduce((sum, one) => sum + 1 - one, 0);
  const name = JSON.stringify(await nameOf(numbered, first));
  throw new FormatError(
    `${path}: expected a row for each node, got none for ${missing} of ${numNodes}, such as ${name}. Use --node-table, in which nodes without a row have missing values.`,
    { path, missing },
  );
}

function nodeSplits(
  options: TextInput,
  given: NodeInput['splits'],
  labels: Int32Array | null,
  idsOf: (segment: NameSegment) => Int32Array,
): NodeSplits | null {
  if (given !== null) {
    const seen = new Set<number>();
    const [train, valid, test] = given.map((segment) => {
      const ids = segment === null ? new Int32Array(0) : idsOf(segment);
      for (const [row, id] of ids.entries()) {
        if (seen.has(id)) {
          const { path, lines } = segment as NameSegment;
          throw new FormatError(
            `${path}:${lines?.[row] ?? row + 1}: expected each node in one split, got one twice.`,
            { path },
          );
        }
        seen.add(id);
      }
      return ids.sort();
    });
    return { train, valid, test };
  }
  if (options.nodeSplit === undefined || labels === null) return null;
  const [train, valid] = options.nodeSplit;
  const seed = new Random(options.seed ?? 1).split(4).nextUint32();
  const fractions = { train, valid: options.nodeSplit.length === 3 ? Math.min(valid, 1 - train) : 0 };
  return randomNodeSplit(labels, { fractions, seed });
}

const blockRows = 1024;

async function* featureBlocks(
  { segment, width, source }: NonNullable<NodeInput['features']>,
  encoding: NodeEncoding | null,
  idsOf: (segment: NameSegment) => Int32Array,
  numNodes: number,
): AsyncGenerator<FeatureBlock> {
  const ids = idsOf(segment);
  if (encoding !== null) yield* missingRows(ids, encoding, numNodes);
  let row = 0;
  for await (const values of typeof source === 'string'
    ? fileRows(source, width, ids.length)
    : npyBlocks(source)) {
    const rows = values.length / width;
    yield { nodes: ids.subarray(row, row + rows), values };
    row += rows;
  }
}

/** Yields rows for nodes that are not in the table: all values are missing. */
async function* missingRows(
  ids: Int32Array,
  encoding: NodeEncoding,
  numNodes: number,
): AsyncGenerator<FeatureBlock> {
  const seen = new Uint8Array(numNodes);
  for (const id of ids) seen[id] = 1;
  const values = new Float32Array(encoding.width);
  const fail = (): never => {
    throw new InternalError('a missing value was rejected');
  };
  encoding.encode(
    encoding.columns.map(() => ''),
    values,
    0,
    fail,
  );
  for (let node = seen.indexOf(0); node >= 0; node = seen.indexOf(0, node + 1))
    yield { nodes: Int32Array.of(node), values };
}

async function* fileRows(path: string, width: number, rows: number): AsyncGenerator<Float32Array> {
  const file = openSync(path, 'r');
  try {
    for (let start = 0; start < rows; start += blockRows) {
      const values = new Float32Array(Math.min(blockRows, rows - start) * width);
      if (!readAt(file, bytesOf(values), 4 * start * width))
        throw new InternalError(`${path}: expected ${rows} rows`);
      yield values;
    }
  } finally {
    closeSync(file);
  }
}
