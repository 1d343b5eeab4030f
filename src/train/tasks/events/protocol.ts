/**
 * `protocol: tgb`: the rules of the Temporal Graph Benchmark for link prediction (Huang et al., NeurIPS 2023; tgbl-*). The
 * stream is split at the 0.70 and 0.85 quantiles of its times, no node is held out of training, the candidates are all nodes
 * from the lowest to the highest destination except those that the source meets at the same time, and the metric is the
 * mean reciprocal rank. The key sets defaults; other keys of `evaluation` may be given.
 */
import { isTree, type Tree } from '../../../util/schema/key-path.js';
import type { ConfigProblem } from '../../../util/schema/problem.js';
import type { TemporalRunSections } from './schema.js';

/** Keys that the protocol fixes: with other values the split is not that of the benchmark. */
const split = { train_share: 0.7, validation_share: 0.15, new_node_share: 0 } as const;
const evaluation = { negatives: 'tgb', metric: 'mrr', batch_size: 200 } as const;

/** Returns the sections of a file with the defaults of its protocol filled in. */
export function withProtocol(tree: Tree): Tree {
  const { protocol } = tree;
  if (typeof protocol !== 'string' || protocol.toLowerCase() !== 'tgb') return tree;
  return {
    ...tree,
    dataset: filled(tree['dataset'], split),
    evaluation: filled(tree['evaluation'], evaluation),
  };
}

function filled(section: unknown, defaults: Tree): unknown {
  // Anything else than a section is reported by the schema.
  return section === undefined || section === null || isTree(section)
    ? { ...defaults, ...(section ?? {}) }
    : section;
}

/** Returns the keys that contradict the protocol. */
export function protocolProblems({ protocol, dataset }: TemporalRunSections): ConfigProblem[] {
  if (protocol !== 'tgb') return [];
  return Object.entries(split)
    .filter(([key, value]) => dataset[key as keyof typeof split] !== value)
    .map(([key, value]) => ({
      key: `dataset.${key}`,
      message: `expected ${value} for dataset.${key} with protocol tgb, got ${dataset[key as keyof typeof split]}. Leave out one of the two keys.`,
    }));
}

/** Returns the destinations that events are ranked against: with `tgb` all ids from the lowest to the highest. */
export function destinationPool(
  { protocol }: Pick<TemporalRunSections, 'protocol'>,
  { dstPool }: { readonly dstPool: Int32Array },
): Int32Array {
  if (protocol !== 'tgb' || dstPool.length === 0) return dstPool;
  const first = dstPool[0];
  return Int32Array.from({ length: dstPool[dstPool.length - 1] - first + 1 }, (_, i) => first + i);
}
