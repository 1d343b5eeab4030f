/** Cora from $SKEIN_DATA or, if it is missing, a graph of seven communities with noisy features. */
import { loadDataset, type NodeDataset, randomNodeSplit, stochasticBlockModel } from 'skein/data';
import { StorageError } from 'skein/util';

export interface Papers extends NodeDataset {
  readonly splits: NonNullable<NodeDataset['splits']>;
}

export async function loadPapers(): Promise<{ readonly name: 'cora' | 'generated'; readonly data: Papers }> {
  try {
    return { name: 'cora', data: (await loadDataset('cora', { download: false })) as Papers };
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
  }
  const blocks = Array.from({ length: 7 }, (_, i) => i);
  const data = stochasticBlockModel(
    blocks.map(() => 200),
    {
      probabilities: blocks.map((i) => blocks.map((j) => (i === j ? 0.02 : 0.0008))),
      numFeatures: 32,
      seed: 5,
    },
  );
  const splits = randomNodeSplit(data.labels, { seed: 5 });
  return { name: 'generated', data: { ...data, splits } };
}
