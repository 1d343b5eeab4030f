/**
 * Rows of all nodes as a model compares them: the embeddings themselves where the encoder returns them unchanged, otherwise
 * the encoder's result for every node, layer by layer.
 */

import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PreparedDataset } from '../../../data/index.js';
import { mappingText } from '../../../data/prepare/mapping-file.js';
import { writeFileAtomic } from '../../../storage/atomic-file.js';
import type { BatchSource } from './batch/batch-source.js';
import type { EncodedNodes } from './model/encoder.js';
import type { Model } from './model/model.js';

/** The model of a run and the source of its batches. */
export interface EncodableRun {
  readonly model: Model;
  readonly source: BatchSource;
}

/** Prepares the storage so that `tiles` and `readEncoded` return the rows that the model compares. */
export async function rowsForReading(run: EncodableRun): Promise<void> {
  if (run.model.comparesEmbeddings || run.source.storage.encodedNodes !== null) return;
  await encodeAllNodes(run);
}

/** Encodes every node, leaves the result in the storage and returns it. */
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
