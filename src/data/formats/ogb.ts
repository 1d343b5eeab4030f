/**
 * Node property datasets of the Open Graph Benchmark, unpacked: a folder with raw/ and split/<scheme>/.
 * Hu et al., "Open Graph Benchmark", NeurIPS 2020; layout as in its reader `read_csv_graph_raw` and
 * `read_binary_graph_raw`.
 *
 * Two layouts of raw/: csv.gz files, or data.npz with node-label.npz. One graph, one label per node. Edges are directed as in
 * the files; a missing label (NaN) is −1.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { checkOptionNames } from '../../util/option-names.js';
import { checkFloats, checkIds, checkLabels, countClasses, mismatch } from '../check.js';
import type { EdgeArrays } from '../edges.js';
import type { DenseArrays, NodeData, NodeSplits } from '../node-data.js';
import { readNpz } from './npz.js';
import { readNumberColumns, readNumberMatrix } from './numeric-csv.js';

export interface OgbOptions {
  /** Folder in split/; optional if there is one only. */
  readonly split?: string;
  /** Number of classes, if the files may not contain the largest. */
  readonly numClasses?: number;
  /** Add the reverse of each edge after it, as OGB does for undirected graphs stored in one direction. */
  readonly bothDirections?: boolean;
}

interface RawGraph {
  readonly edges: EdgeArrays;
  readonly features: DenseArrays | null;
  readonly labels: ArrayLike<number>;
  readonly labelFile: string;
}

export async function readOgb(folder: string, options: OgbOptions = {}): Promise<NodeData> {
  checkOptionNames('readOgb', options, { split: true, numClasses: true, bothDirections: true });
  const raw = join(folder, 'raw');
  const graph = existsSync(join(raw, 'data.npz')) ? await readBinary(raw) : await readCsv(raw);
  const { numNodes } = graph.edges;
  if (graph.labels.length !== numNodes) mismatch(graph.labelFile, `${numNodes} labels`, graph.labels.length);
  const known = Float64Array.from(graph.labels, (label) => (Number.isNaN(label) ? -1 : label));
  const numClasses = options.numClasses ?? countClasses(known);
  return {
    edges: options.bothDirections === true ? withReverse(graph.edges) : graph.edges,
    features: graph.features,
    labels: checkLabels(graph.labelFile, known, numClasses, true),
    numClasses,
    splits: await readSplits(folder, numNodes, options.split),
  };
}

function withReverse({ numNodes, src, dst }: EdgeArrays): EdgeArrays {
  const from = new Int32Array(2 * src.length);
  const to = new Int32Array(2 * src.length);
  for (let i = 0; i < src.length; i++) {
    from[2 * i] = to[2 * i + 1] = src[i];
    to[2 * i] = from[2 * i + 1] = dst[i];
  }
  return { numNodes, src: from, dst: to };
}

async function readCsv(raw: string): Promise<RawGraph> {
  const at = (name: string): string => join(raw, `${name}.csv.gz`);
  const counts = await readNumberColumns(at('num-node-list'), { columns: 1, integers: true });
  if (counts.rows !== 1) mismatch(at('num-node-list'), 'one graph', `${counts.rows} graphs`);
  const numNodes = counts.columns[0][0];
  const edges = await readNumberColumns(at('edge'), { columns: 2, integers: true });
  const labels = await readNumberColumns(at('node-label'), { columns: 1 });
  return {
    edges: {
      numNodes,
      src: checkIds(at('edge'), 'the source of edge', edges.columns[0], numNodes),
      dst: checkIds(at('edge'), 'the destination of edge', edges.columns[1], numNodes),
    },
    features: existsSync(at('node-feat')) ? await readCsvFeatures(at('node-feat'), numNodes) : null,
    labels: labels.columns[0] ?? [],
    labelFile: at('node-label'),
  };
}

async function readCsvFeatures(path: string, numNodes: number): Promise<DenseArrays> {
  const { values, width, rows } = await readNumberMatrix(path, Float32Array);
  if (rows !== numNodes) mismatch(path, `${numNodes} rows`, rows);
  return { shape: [rows, width], values: checkFloats(path, 'feature', values, width) };
}

async function readBinary(raw: string): Promise<RawGraph> {
  const data = await readNpz(join(raw, 'data.npz'));
  const counts = data.numbers('num_nodes_list').data;
  if (counts.length !== 1) mismatch(`${data.path}:num_nodes_list`, 'one graph', `${counts.length} graphs`);
  const numNodes = counts[0];
  const pairs = data.numbers('edge_index');
  if (pairs.shape.length !== 2 || pairs.shape[0] !== 2)
    mismatch(`${data.path}:edge_index`, 'shape [2, edges]', `[${pairs.shape.join(', ')}]`);
  const where = `${data.path}:edge_index`;
  const ids = checkIds(where, 'element', pairs.data, numNodes);
  const half = pairs.shape[1];
  const labelFile = join(raw, 'node-label.npz');
  const labels = (await readNpz(labelFile)).numbers('node_label').data;
  let features: DenseArrays | null = null;
  if (data.has('node_feat')) {
    const { shape, data: values } = data.numbers('node_feat');
    if (shape.length !== 2 || shape[0] !== numNodes)
      mismatch(`${data.path}:node_feat`, `${numNodes} rows`, `[${shape.join(', ')}]`);
    const checked = checkFloats(`${data.path}:node_feat`, 'feature', values, shape[1]);
    features = { shape: [shape[0], shape[1]], values: checked };
  }
  return { edges: { numNodes, src: ids.slice(0, half), dst: ids.slice(half) }, features, labels, labelFile };
}

async function readSplits(folder: string, numNodes: number, wanted?: string): Promise<NodeSplits | null> {
  const base = join(folder, 'split');
  if (!existsSync(base)) return null;
  const schemes = readdirSync(base, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
  const scheme = wanted ?? (schemes.length === 1 ? schemes[0] : undefined);
  if (scheme === undefined || !schemes.includes(scheme)) {
    return mismatch(base, 'the name of one of its folders as split', wanted ?? schemes.join(', '));
  }
  const owner = new Uint8Array(numNodes);
  const read = async (split: string): Promise<Int32Array> => {
    const path = join(base, scheme, `${split}.csv.gz`);
    const { columns } = await readNumberColumns(path, { columns: 1, integers: true });
    const ids = checkIds(path, 'the id in row', columns[0] ?? [], numNodes).sort();
    for (const id of ids) {
      if (owner[id] !== 0) mismatch(path, 'each node in one split once', `node ${id} again`);
      owner[id] = 1;
    }
    return ids;
  };
  return { train: await read('train'), valid: await read('valid'), test: await read('test') };
}
