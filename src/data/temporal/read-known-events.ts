/** Events in the files of JODIE, TGN, TGL and SNAP, with their feature and label files. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fromTypedArray, type Tensor } from '../../tensor/index.js';
import { mismatch } from '../check.js';
import { readNpz } from '../formats/npz.js';
import { findFileHead, headerLayout } from './event-files.js';
import {
  type EventInput,
  eventIds,
  numberUsersAndItems,
  readColumns,
  resolveNumNodes,
  stepsBackOf,
} from './event-input.js';
import { shiftedNodes } from './event-nodes.js';
import { readEventTable, type TableLayout } from './event-table.js';
import { type FeatureMatrix, findFeatures, pickRows } from './feature-files.js';
import { makeTemporalData } from './make-temporal-data.js';
import { largestOf, numberNodes, toEventNodes } from './node-numbers.js';
import type { NodeLabels, TemporalData } from './temporal-data.js';

export async function readJodie(source: EventInput, layout: TableLayout): Promise<TemporalData> {
  const columns = await readColumns(source, layout);
  const { time, label, featureWidth, features } = columns;
  const { src, dst, ...numbered } = numberUsersAndItems(source, columns);
  const events = { src, dst, time, ...eventIds(columns), ...(featureWidth > 0 ? { features } : {}) };
  const fields = { name: source.name, events, featureWidth, labels: label, ...numbered };
  return makeTemporalData({ ...fields, ...stepsBackOf(columns) });
}

export async function readTgn(source: EventInput, layout: TableLayout): Promise<TemporalData> {
  const columns = await readColumns(source, layout);
  const { src, dst, time, label } = columns;
  const ids = columns.id as Int32Array;
  for (let i = 0; i < src.length; i++) {
    if (src[i] === 0 || dst[i] === 0) mismatch(source.path, 'node ids from 1', `0 in event ${i}`);
    src[i]--;
    dst[i]--;
  }
  const stem = source.path.replace(/\.csv(\.gz)?$/, '');
  const edgeMatrix = await findFeatures(stem);
  const nodeMatrix = await findFeatures(`${stem}_node`);
  const largest = largestOf(src, dst);
  const numNodes = resolveNumNodes(source, Math.max(largest + 1, (nodeMatrix?.rows ?? 0) - 1));
  if (nodeMatrix !== null && nodeMatrix.rows !== numNodes + 1)
    mismatch(nodeMatrix.path, `${numNodes + 1} rows`, nodeMatrix.rows);
  const features = edgeMatrix === null ? {} : { features: pickRows(edgeMatrix, ids) };
  return makeTemporalData({
    ...{ name: source.name, events: { src, dst, time, ids, ...features }, numNodes, labels: label },
    ...{ featureWidth: edgeMatrix?.width ?? 0, nodeFeatures: nodeTensor(nodeMatrix, 1) },
    ...{ nodes: shiftedNodes(numNodes, 1), ...stepsBackOf(columns) },
  });
}

export async function readTgl(source: EventInput, layout: TableLayout): Promise<TemporalData> {
  const columns = await readColumns(source, layout);
  const { src, dst, time, rows } = columns;
  const ids = columns.id ?? Int32Array.from({ length: rows }, (_, i) => i);
  const folder = dirname(source.path);
  const edgeMatrix = await findFeatures(join(folder, 'edge_features'));
  const nodeMatrix = await findFeatures(join(folder, 'node_features'));
  const known = Math.max(largestOf(src, dst) + 1, nodeMatrix?.rows ?? 0, await countTcsrNodes(folder, rows));
  const numNodes = resolveNumNodes(source, known);
  if (nodeMatrix !== null && nodeMatrix.rows !== numNodes)
    mismatch(nodeMatrix.path, `${numNodes} rows`, nodeMatrix.rows);
  const features = edgeMatrix === null ? {} : { features: pickRows(edgeMatrix, ids) };
  return makeTemporalData({
    ...{ name: source.name, events: { src, dst, time, ids, ...features }, numNodes },
    ...{ featureWidth: edgeMatrix?.width ?? 0, nodeFeatures: nodeTensor(nodeMatrix, 0) },
    nodeLabels: await readTglLabels(join(folder, 'labels.csv'), numNodes),
    ...stepsBackOf(columns),
    ...(columns.split === null ? {} : { split: splitBounds(source.path, columns.split) }),
  });
}

/** Returns the number of nodes of the T-CSR file, which must have all events, once or in both directions; 0 without it. */
async function countTcsrNodes(folder: string, numEvents: number): Promise<number> {
  const path = join(folder, 'ext_full.npz');
  if (!existsSync(path)) return 0;
  const file = await readNpz(path);
  const { data: indptr } = file.numbers('indptr');
  const entries = file.numbers('eid').data.length;
  if (entries !== numEvents && entries !== 2 * numEvents)
    mismatch(path, `${numEvents} or ${2 * numEvents} entries`, entries);
  if (indptr.length === 0 || indptr[indptr.length - 1] !== entries)
    mismatch(path, `an indptr that ends at ${entries}`, indptr[indptr.length - 1]);
  return indptr.length - 1;
}

async function readTglLabels(path: string, numNodes: number): Promise<NodeLabels | null> {
  const header = await findFileHead(path);
  if (header === null) return null;
  const roles = { node: 'src', time: 'time', label: 'label', ext_roll: 'split' } as const;
  const required = ['node', 'time', 'label'];
  const columns = await readEventTable(headerLayout(path, header, roles, { required, unsorted: true }));
  const largest = largestOf(columns.src, columns.src);
  if (largest >= numNodes) mismatch(path, `nodes below ${numNodes}`, largest);
  const { src: nodes, time: times, label, split: splits } = columns;
  return { nodes, times, labels: label as Float32Array, splits };
}

/** Returns the rows at which validation and test start; the splits must follow one another. */
function splitBounds(path: string, splits: Uint8Array): { trainEnd: number; validationEnd: number } {
  for (let i = 1; i < splits.length; i++) {
    if (splits[i] < splits[i - 1])
      mismatch(path, 'ext_roll that ascends with time', `${splits[i]} after ${splits[i - 1]} in event ${i}`);
  }
  const end = (split: number): number => {
    const at = splits.findIndex((one) => one > split);
    return at < 0 ? splits.length : at;
  };
  return { trainEnd: end(0), validationEnd: end(1) };
}

export async function readSnap(source: EventInput, layout: TableLayout): Promise<TemporalData> {
  const columns = await readColumns(source, layout);
  const { time, type } = columns;
  const numbered = numberNodes(columns.src, columns.dst);
  const { src, dst, nodeIds } = numbered;
  const events = { src, dst, time, ...eventIds(columns), ...(type === null ? {} : { types: type }) };
  const typeNames = type === null ? null : columns.typeNames;
  const numNodes = resolveNumNodes(source, numbered.numNodes);
  return makeTemporalData({
    ...{ name: source.name, events, numNodes, typeNames, nodes: toEventNodes(numbered, numNodes) },
    ...(nodeIds === null ? {} : { nodeIds }),
    ...stepsBackOf(columns),
  });
}

/** Returns node features without the leading padding rows; null if they are all zero. */
function nodeTensor(matrix: FeatureMatrix | null, padding: number): Tensor | null {
  if (matrix === null) return null;
  const values = matrix.values.slice(padding * matrix.width);
  return values.some((value) => value !== 0)
    ? fromTypedArray(values, [matrix.rows - padding, matrix.width])
    : null;
}
