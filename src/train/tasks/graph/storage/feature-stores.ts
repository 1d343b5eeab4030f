/**
 * Stores of node features: one entry in each of the two records below per type name of `storage.features.type`. Stores read
 * rows by node, whole batches at a time. PARTITION_BUFFER is not among them: there features are columns of the node table.
 */
import type { PreparedDataset } from '../../../../data/index.js';
import { MemoryStore, type RowReader } from '../../../../storage/index.js';
import { choice, field, size } from '../../../../util/schema/fields.js';
import type { SkeinConfig, StorageConfig } from '../../../config/index.js';
import { type FeatureFile, openFeatureFile } from './hot-features.js';
import { readFloats } from './read-floats.js';

/** Fixed rows by node. */
export type Features = RowReader<Float32Array>;

export const tableType = () =>
  field(
    choice(['float32', 'float16', 'bfloat16', 'float64'], {
      float: 'float32',
      double: 'float64',
      half: 'float16',
    }),
    'float32',
    'element type of the rows; float16 and bfloat16 are ours: half the size, arithmetic in float32. float64 (double) is read as float32',
  );

/** The options of each. */
export const featureOptions = {
  HOST_MEMORY: () => ({ dtype: tableType() }),
  FLAT_FILE: () => ({
    dtype: tableType(),
    hot_cache_size: field(size(0), 0, {
      doc: 'memory for rows that are asked for often, for example 0.1G or 500M; 0: none',
      ours: true,
    }),
    hot_policy: field(choice(['PUSH', 'DEGREE', 'PRESAMPLE', 'SIEVE']), 'PUSH', {
      doc: 'which rows are kept: by the probability to be in a batch, by degree, by 20 batches drawn beforehand, or only those that come and go',
      ours: true,
    }),
  }),
};

interface FeatureSource {
  readonly config: SkeinConfig;
  readonly dataset: PreparedDataset;
  /** Rows of f32 in the order of nodes. */
  readonly file: FeatureFile;
}

type StoreName = keyof typeof featureOptions;
type OptionsOf<W extends StoreName> = Extract<StorageConfig['features'], { readonly type: W }>['options'];

/** The function that opens each store. */
const openers: {
  readonly [W in StoreName]: (source: FeatureSource, options: OptionsOf<W>) => Promise<Features>;
} = {
  HOST_MEMORY: async ({ file: { path, rows, width } }) =>
    new MemoryStore(await readFloats(path, 0, rows * width), { rows, width }),
  FLAT_FILE: ({ config, dataset, file }, options) => openFeatureFile(config, dataset, file, options),
};

/** Opens the configured store. */
export function openFeatures(source: FeatureSource): Promise<Features> {
  const { type, options } = source.config.storage.features;
  return openers[type as StoreName](source, options as never);
}
