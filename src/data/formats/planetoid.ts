/**
 * The Planetoid files ind.<name>.{x, tx, allx, y, ty, ally, graph, test.index} of Cora, CiteSeer and PubMed
 * (Yang, Cohen, Salakhutdinov: "Revisiting semi-supervised learning with graph embeddings", ICML 2016).
 *
 * Node order, edges and splits are those of PyTorch Geometric: rows of allx, then the test rows at the ids of test.index;
 * both directions of each edge once, no self loops; the first rows are training nodes, the next 500 validation nodes. Ids
 * missing between the smallest and the largest test id (CiteSeer has 15) are nodes without features, of class 0.
 */
import { join } from 'node:path';
import { readWholeFile } from '../../storage/atomic-file.js';
import type { NumpyArray } from '../../tensor/numpy-array.js';
import { checkIds, makeCsr, mismatch } from '../check.js';
import { type EdgeArrays, symmetricEdges } from '../edges.js';
import type { CsrArrays, NodeData } from '../node-data.js';
import { readNumberColumns } from './numeric-csv.js';
import { parsePickle } from './pickle.js';
import { PickleArray, PickleCsr } from './pickle-objects.js';

const numValid = 500;

/** Reads the eight files of one dataset. */
export async function readPlanetoid(folder: string, name: string): Promise<NodeData> {
  const at = (part: string): string => join(folder, `ind.${name}.${part}`);
  const matrix = async (part: string): Promise<CsrArrays> =>
    csrFromPickle(parsePickle(await readWholeFile(at(part)), at(part)), at(part));
  const oneHot = async (part: string): Promise<OneHot> =>
    oneHotFromPickle(parsePickle(await readWholeFile(at(part)), at(part)), at(part));
  const [allx, tx, y, ally, ty] = [
    await matrix('allx'),
    await matrix('tx'),
    await oneHot('y'),
    await oneHot('ally'),
    await oneHot('ty'),
  ];
  const testIds = await readTestIds(at('test.index'), allx.shape[0], tx.shape[0]);
  if (ty.labels.length !== tx.shape[0]) mismatch(at('ty'), `${tx.shape[0]} rows`, ty.labels.length);
  if (ally.labels.length !== allx.shape[0]) mismatch(at('ally'), `${allx.shape[0]} rows`, ally.labels.length);
  if (tx.shape[1] !== allx.shape[1]) mismatch(at('tx'), `${allx.shape[1]} columns`, tx.shape[1]);
  if (y.labels.length + numValid > allx.shape[0])
    mismatch(at('y'), `room for ${numValid} validation rows`, y.labels.length);

  const numNodes = testIds.reduce((largest, id) => Math.max(largest, id), allx.shape[0] - 1) + 1;
  const labels = new Int32Array(numNodes);
  labels.set(ally.labels);
  testIds.forEach((id, row) => {
    labels[id] = ty.labels[row];
  });
  const train = Int32Array.from(y.labels, (_, i) => i);
  const valid = Int32Array.from({ length: numValid }, (_, i) => y.labels.length + i);
  return {
    edges: edgesFromPickle(parsePickle(await readWholeFile(at('graph')), at('graph')), numNodes, at('graph')),
    features: mergeRows(allx, tx, testIds, numNodes),
    labels,
    numClasses: y.numClasses,
    splits: { train, valid, test: testIds.slice().sort() },
  };
}

async function readTestIds(path: string, first: number, count: number): Promise<Int32Array> {
  const { columns } = await readNumberColumns(path, { columns: 1, integers: true });
  if (columns[0].length !== count) mismatch(path, `${count} ids, one per row of tx,`, columns[0].length);
  const ids = checkIds(path, 'test id', columns[0], first + 10 * count + 1);
  const seen = new Set<number>();
  ids.forEach((id, line) => {
    if (id < first || seen.has(id)) mismatch(`${path}:${line + 1}`, `a new test id of at least ${first}`, id);
    seen.add(id);
  });
  return ids;
}

/** Returns the rows of allx, then row i of tx as row testIds[i]; other rows are empty. */
function mergeRows(allx: CsrArrays, tx: CsrArrays, testIds: Int32Array, numNodes: number): CsrArrays {
  const rowOfTx = new Int32Array(numNodes).fill(-1);
  testIds.forEach((id, row) => {
    rowOfTx[id] = row;
  });
  const offsets = new Int32Array(numNodes + 1);
  const indices = new Int32Array(allx.indices.length + tx.indices.length);
  const values = new Float32Array(indices.length);
  for (let node = 0; node < numNodes; node++) {
    const from = node < allx.shape[0] ? allx : tx;
    const row = node < allx.shape[0] ? node : rowOfTx[node];
    const start = row < 0 ? 0 : from.offsets[row];
    const end = row < 0 ? 0 : from.offsets[row + 1];
    indices.set(from.indices.subarray(start, end), offsets[node]);
    values.set(from.values.subarray(start, end), offsets[node]);
    offsets[node + 1] = offsets[node] + (end - start);
  }
  return { shape: [numNodes, allx.shape[1]], offsets, indices, values };
}

function csrFromPickle(value: unknown, where: string): CsrArrays {
  const shape = value instanceof PickleCsr ? value.shape : null;
  if (!(value instanceof PickleCsr) || shape === null)
    return mismatch(where, 'a pickled CSR matrix', typeof value);
  const numbers = (name: string): ArrayLike<number> => {
    const array = value.array(name);
    if (array === null || typeof array.data[0] === 'string')
      return mismatch(where, `numbers in ${name}`, 'none');
    return array.data as ArrayLike<number>;
  };
  return makeCsr(where, shape, {
    offsets: numbers('indptr'),
    indices: numbers('indices'),
    values: numbers('data'),
  });
}

interface OneHot {
  readonly labels: Int32Array;
  readonly numClasses: number;
}

function oneHotFromPickle(value: unknown, where: string): OneHot {
  const array: NumpyArray | null = value instanceof PickleArray ? value.value : null;
  if (array === null || array.shape.length !== 2 || array.shape[1] === 0)
    return mismatch(where, 'a pickled matrix of labels', typeof value);
  const [rows, numClasses] = array.shape;
  const labels = new Int32Array(rows);
  for (let r = 0; r < rows; r++) {
    // The first of the largest entries; CiteSeer has rows of zeros, which get class 0.
    let best = 0;
    for (let c = 1; c < numClasses; c++) {
      if (array.data[r * numClasses + c] > array.data[r * numClasses + best]) best = c;
    }
    labels[r] = best;
  }
  return { labels, numClasses };
}

function edgesFromPickle(value: unknown, numNodes: number, where: string): EdgeArrays {
  if (!(value instanceof Map))
    return mismatch(where, 'a pickled dictionary of neighbour lists', typeof value);
  const src: number[] = [];
  const dst: number[] = [];
  for (const [node, neighbours] of value as Map<unknown, unknown>) {
    if (typeof node !== 'number') mismatch(where, 'node numbers as keys', typeof node);
    if (!Array.isArray(neighbours))
      mismatch(where, `a list of neighbours of node ${node}`, typeof neighbours);
    for (const neighbour of neighbours) {
      src.push(node);
      dst.push(neighbour as number);
    }
  }
  return symmetricEdges({
    numNodes,
    src: checkIds(where, 'the node of edge', src, numNodes),
    dst: checkIds(where, 'the neighbour of edge', dst, numNodes),
  });
}
