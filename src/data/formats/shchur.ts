/**
 * The npz files of Shchur et al., "Pitfalls of graph neural network evaluation" (2018): Amazon Computers and Photo,
 * Coauthor CS and Physics.
 *
 * As in PyTorch Geometric: both directions of each edge once, no self loops, all nodes kept, positive features set to 1.
 * There is no fixed split; see `randomNodeSplit`.
 */
import { checkOptionNames } from '../../util/option-names.js';
import { checkIds, checkLabels, countClasses, makeCsr, mismatch } from '../check.js';
import { symmetricEdges } from '../edges.js';
import type { CsrArrays, NodeData } from '../node-data.js';
import { type NpzFile, readNpz } from './npz.js';

export interface ShchurOptions {
  /** Keep the numbers of the file (word counts) instead of setting positive ones to 1. */
  readonly counts?: boolean;
}

export async function readShchur(path: string, options: ShchurOptions = {}): Promise<NodeData> {
  checkOptionNames('readShchur', options, { counts: true });
  const file = await readNpz(path);
  const adjacency = readMatrix(file, 'adj');
  const features = readMatrix(file, 'attr');
  const numNodes = adjacency.shape[0];
  const labels = file.numbers('labels').data;
  const sizes = { adj_shape: adjacency.shape[1], attr_shape: features.shape[0], labels: labels.length };
  for (const [name, size] of Object.entries(sizes)) {
    if (size !== numNodes) mismatch(`${path}:${name}`, `${numNodes} nodes`, size);
  }
  const src = new Int32Array(adjacency.indices.length);
  for (let node = 0; node < numNodes; node++)
    src.fill(node, adjacency.offsets[node], adjacency.offsets[node + 1]);
  const numClasses = countClasses(labels);
  const names = file.has('class_names') ? file.get('class_names').data : [];
  return {
    edges: symmetricEdges({ numNodes, src, dst: adjacency.indices }),
    features: options.counts === true ? features : { ...features, values: features.values.map(toIndicator) },
    labels: checkLabels(`${path}:labels`, labels, numClasses),
    numClasses,
    splits: null,
    ...(typeof names[0] === 'string' ? { classNames: names as readonly string[] } : {}),
  };
}

function toIndicator(value: number): number {
  return value > 0 ? 1 : value;
}

function readMatrix(file: NpzFile, prefix: 'adj' | 'attr'): CsrArrays {
  const where = `${file.path}:${prefix}`;
  const shape = checkIds(`${where}_shape`, 'side', file.numbers(`${prefix}_shape`).data, 2 ** 31);
  return makeCsr(where, [shape[0], shape[1]], {
    offsets: file.numbers(`${prefix}_indptr`).data,
    indices: file.numbers(`${prefix}_indices`).data,
    values: file.numbers(`${prefix}_data`).data,
  });
}
