/** Rows and labels of the nodes of a batch. */
import { asTensor } from '../../../../storage/memory-embeddings.js';
import { gatherText } from '../model/text-bags.js';
import type { GraphStorage } from '../storage/graph-storage.js';
import type { DeviceFeatures } from './device-features.js';
import type { TrainingBatch } from './training-batch.js';

interface RowSources {
  readonly storage: GraphStorage;
  /** A cache of the features on a device; null: they are read from the storage. */
  readonly deviceFeatures: DeviceFeatures | null;
  /** Whether batches hold nodes to classify, not edges. */
  readonly holdsNodes: boolean;
  /** Whether rows of training are read on other threads. */
  readonly ahead: boolean;
}

/** Returns the batch with the rows of its nodes as they are now. */
export async function readRows(
  batch: TrainingBatch,
  { storage, deviceFeatures, holdsNodes, ahead }: RowSources,
): Promise<TrainingBatch> {
  const { embeddings, features, text } = storage;
  const ids = batch.uniqueNodeIndices as Int32Array;
  if (!batch.train && batch.gnnGraph === null && !holdsNodes) {
    const { rows, width, isEncoded } = await storage.readEncoded(ids);
    return batch.withEmbeddings(asTensor(rows, Math.max(1, width)), isEncoded);
  }
  let read = batch;
  if (embeddings !== null) {
    const rows = !batch.train
      ? asTensor(await embeddings.gather(ids), embeddings.width)
      : batch.queries !== null
        ? (embeddings.residentView?.() ?? embeddings.resident(ids))
        : ahead
          ? await embeddings.residentAsync(ids)
          : embeddings.resident(ids);
    read = read.withEmbeddings(rows);
  }
  if (text === null && features === null) return read;
  const nodes = batch.train ? storage.residency.toGlobal(ids) : ids;
  if (text !== null) read = read.with({ uniqueNodeText: gatherText(text, nodes) });
  if (features === null) return read;
  const rows =
    (await deviceFeatures?.gather(nodes)) ?? asTensor(await features.gather(nodes), features.width);
  return read.with({ uniqueNodeFeatures: rows });
}

/** Returns the labels of nodes of the selected split, by the ids that its batches use. */
export function labelsOf(localIds: Int32Array, storage: GraphStorage): Int32Array | null {
  const { labels } = storage;
  if (labels === null) return null;
  if (storage.activeSplit !== 'train' || storage.allResident) return localIds.map((id) => labels[id]);
  const ranges = storage.residency.residentRanges();
  return localIds.map((id) => {
    const range = ranges.find(({ localStart, rows }) => id >= localStart && id < localStart + rows);
    return range === undefined ? -1 : labels[range.globalStart + id - range.localStart];
  });
}
