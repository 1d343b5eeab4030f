/**
 * Features that several workers hold together: each has one range of the rows in memory, read from that range of the
 * prepared file, and asks the others for the rest. The rows are those of the file, so results are those of copies.
 */
import type { Communicator } from '../../dist/index.js';
import { openSpreadRows, type RemoteRowStore } from '../../dist/stores/index.js';
import { defaultDistributed, type SkeinConfig } from '../config/index.js';
import type { FeatureFile } from './hot-features.js';
import { readFloats } from './read-floats.js';

/** Whether several workers share out the rows of a run; rows that are read from their file take no memory anyway. */
export function spreadsFeatures({ storage, distributed }: SkeinConfig): boolean {
  const { features } = distributed ?? defaultDistributed();
  return features === 'spread' && storage.features.type === 'HOST_MEMORY';
}

/** Every worker opens it. */
export function openSpreadFeatures(file: FeatureFile, comm: Communicator): Promise<RemoteRowStore> {
  const { path, rows, width } = file;
  return openSpreadRows('features', {
    ...{ rows, width, comm },
    read: ({ start, end }) => readFloats(path, start * width, (end - start) * width),
  });
}
