/** Two small datasets for training on a device: facts with three relations, and nodes with features and classes. */
import { randomRows, writeDataset } from '../train/tiny.js';

/** Facts among 31 nodes. */
export function writeLinks(folder: string): ReturnType<typeof writeDataset> {
  const rows = randomRows(31, 160, 3);
  return writeDataset(folder, {
    numNodes: 31,
    numRelations: 3,
    train: rows.subarray(0, 360),
    validation: rows.subarray(360, 420),
    test: rows.subarray(420),
  });
}

/** 40 nodes with 6 features in 3 classes. */
export function writePapers(folder: string): ReturnType<typeof writeDataset> {
  const nodes = 40;
  const all = Int32Array.from({ length: nodes }, (_, i) => i);
  return writeDataset(folder, {
    numNodes: nodes,
    train: randomRows(nodes, 150, 0, 3),
    features: { width: 6, values: Float32Array.from({ length: nodes * 6 }, (_, i) => Math.sin(i * i)) },
    labels: all.map((i) => i % 3),
    numClasses: 3,
    nodes: { train: all.subarray(0, 24), validation: all.subarray(24, 32), test: all.subarray(32) },
  });
}
