/** Writes the node tables of a prepared directory: features, text, labels, and the nodes of each split, by their new numbers. */
import { closeSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bytesOf, FileWriter, openForWriting, writeAt } from './binary-file.js';
import type { NodeTables, OnPrepareProgress } from './graph-source.js';
import { mappingLine } from './mapping-file.js';
import { type NodeText, textFiles } from './node-text.js';

/** Writes nodes/…; `order` has the new number of each node, null if numbers are kept. */
export async function writeNodeTables(
  tables: NodeTables,
  numNodes: number,
  order: Int32Array | null,
  folder: string,
  progress: OnPrepareProgress,
): Promise<void> {
  const { labels, features, splits, classNames } = tables;
  const renumber = (nodes: Int32Array): Int32Array =>
    order === null ? nodes : nodes.map((node) => order[node]).sort();
  if (features !== null)
    await writeFeatures(features, numNodes, order, join(folder, 'nodes/features.bin'), progress);
  if (tables.text != null)
    await writeText(order === null ? tables.text : tables.text.renumber(order), folder);
  if (labels !== null) {
    const reordered = new Int32Array(numNodes).fill(-1);
    labels.forEach((label, node) => {
      reordered[order === null ? node : order[node]] = label;
    });
    await writeFile(join(folder, 'nodes/labels.bin'), bytesOf(reordered));
  }
  if (classNames !== null) {
    const file = new FileWriter(join(folder, 'nodes/label_mapping.txt'));
    for (const [label, name] of classNames.entries()) file.writeText(mappingLine(name, label));
    file.close();
  }
  if (splits === null) return;
  for (const [name, nodes] of [
    ['train', splits.train],
    ['validation', splits.valid],
    ['test', splits.test],
  ] as const) {
    await writeFile(join(folder, `nodes/${name}_nodes.bin`), bytesOf(renumber(nodes)));
  }
}

async function writeText({ vocabulary, offsets, words }: NodeText, folder: string): Promise<void> {
  await writeFile(join(folder, textFiles.vocabulary), vocabulary.toText());
  await writeFile(join(folder, textFiles.offsets), bytesOf(offsets));
  await writeFile(join(folder, textFiles.words), bytesOf(words));
}

async function writeFeatures(
  features: NonNullable<NodeTables['features']>,
  numNodes: number,
  order: Int32Array | null,
  path: string,
  progress: OnPrepareProgress,
): Promise<void> {
  const { width } = features;
  const file = openForWriting(path);
  try {
    let done = 0;
    for await (const { nodes, values } of features.blocks()) {
      for (let i = 0; i < nodes.length; i++) {
        const row = order === null ? nodes[i] : order[nodes[i]];
        writeAt(file, bytesOf(values.subarray(i * width, (i + 1) * width)), row * width * 4);
      }
      done += nodes.length;
      progress({ stage: 'features', done, total: numNodes });
    }
  } finally {
    closeSync(file);
  }
}
