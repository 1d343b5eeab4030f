/** What a dataset says of its nodes, as fields of partitions under the names that SAR's examples use. */
import type { NodeDataset } from '../../data/index.js';
import { fromTypedArray } from '../../tensor/index.js';
import type { FeatureRows } from './partitioned-graph.js';

/** features, labels (i32, −1 unknown), train_mask, val_mask and test_mask (u8) of a dataset with classified nodes. */
export function nodeDatasetFields({ features, labels, splits }: NodeDataset): Record<string, FeatureRows> {
  const mask = (ids: Int32Array): FeatureRows => {
    const flags = new Uint8Array(labels.length);
    for (const v of ids) flags[v] = 1;
    return fromTypedArray(flags);
  };
  const masks: Record<string, FeatureRows> =
    splits === null
      ? {}
      : { train_mask: mask(splits.train), val_mask: mask(splits.valid), test_mask: mask(splits.test) };
  return { features, labels: fromTypedArray(labels.slice()), ...masks };
}
