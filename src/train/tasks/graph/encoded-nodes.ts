/**
 * Rows of all nodes as a model compares them: the embeddings themselves where the encoder passes them on, otherwise the
 * encoder's result for every node, layer by layer.
 */

import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PreparedDataset } from '../../../data/index.js';
import { mappingText } from '../../../data/prepare/mapping-file.js';
import { writeFileAtomic } from '../../../storage/atomic-file.js';
import type { BatchSource } from './batch/batch-source.js';
import { type EncodedNodes, GeneralEncoder } from './model/encoder.js';
import type { Model } from './model/model.js';

/** What is needed of an opened run. */
export interface EncodableRun {
  readonly model: Model;
  readonly source: BatchSource;
}

/** Whether nodes are compared by their embeddings as they are. */
export function comparesEmbeddings({ encoder, featurizer }: Model): boolean {
  return encoder instanceof GeneralEncoder && encoder.isIdentity && featurizer === null;
}

/** Afterwards the storage's `tiles` and `readEncoded` give the rows that the model compares. */
export async function rowsForReading(run: EncodableRun): Promise<void> {
  if (comparesEmbeddings(run.model) || run.source.storage.encodedNodes !== null) return;
  await encodeAllNodes(run);
}

/** The encoder's result for every node; it is left in the storage too. */
export async function encodeAllNodes({ model, source }: EncodableRun): Promise<EncodedNodes> {
  source.select('test');
  await source.load();
  model.eval();
  return model.encoder.encodeFullGraph(source.evaluationNeighbors, source.storage);
}

/** Writes encoded nodes into the directory of a run as Marius does: encoded_nodes.bin (f32 rows) and node_mapping.txt. */
export async function saveEncodedNodes(
  directory: string,
  { rows }: EncodedNodes,
  dataset: PreparedDataset,
): Promise<void> {
  const bytes = new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength);
  await writeFileAtomic(join(directory, 'encoded_nodes.bin'), bytes);
  const mapping = join(dataset.directory, 'nodes', 'node_mapping.txt');
  const target = join(directory, 'node_mapping.txt');
  if (existsSync(mapping)) await copyFile(mapping, target);
  else await writeFileAtomic(target, new TextEncoder().encode(mappingText(await dataset.nodeNames())));
}
