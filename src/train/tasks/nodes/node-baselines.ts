/**
 * Node classification without learning: the most frequent class of the training nodes, and label propagation, in which
 * each node takes the mean of its neighbours' classes while training nodes keep theirs.
 */
import type { EdgeList } from '../../../sample/one-hop-sampler.js';
import type { Baseline, HeldOut } from '../../task.js';
import type { GraphStorage } from '../graph/storage/graph-storage.js';
import { NodeClassificationReporter } from './node-classification-reporter.js';

/** Additions that label propagation may take: about two seconds. */
const mostAdditions = 1e9;
const fewestRounds = 10;
const mostRounds = 50;

/** Returns the metrics of the baselines on a split; label propagation where all of the graph is in memory and small enough. */
export async function nodeBaselines(
  storage: GraphStorage,
  { numClasses, metrics }: NodeClassificationReporter,
  split: HeldOut,
): Promise<Baseline[]> {
  const { labels } = storage;
  const train = storage.splitNodes('train');
  const held = storage.splitNodes(split);
  if (labels === null || train === null || held === null || numClasses === 0) return [];
  const result = (name: string, classOf: (node: number) => number): Baseline => {
    const reporter = new NodeClassificationReporter({ numClasses, metrics });
    reporter.addResult(
      held.map((node) => labels[node]),
      held.map(classOf),
    );
    return { name, metrics: reporter.results() };
  };
  const majority = mostFrequent(
    countClasses(
      train.map((node) => labels[node]),
      numClasses,
    ),
  );
  const found = [result('majority class', () => majority)];
  const edges = storage.split('train');
  const perRound = 2 * (edges?.numEdges ?? 0) * numClasses;
  const rounds = Math.min(mostRounds, Math.floor(mostAdditions / Math.max(1, perRound)));
  if (perRound === 0 || rounds < fewestRounds || !storage.allResident || storage.spread !== null)
    return found;
  const known = new Map(Array.from(train, (node) => [node, labels[node]] as const));
  const scores = propagateLabels(await storage.trainEdges(), known, { ...storage, numClasses, rounds });
  const best = (node: number): number => {
    const row = scores.subarray(node * numClasses, (node + 1) * numClasses);
    return row.every((score) => score === 0) ? majority : mostFrequent(row);
  };
  return [...found, result('label propagation', best)];
}

/** Counts each class; nodes without one (−1) are ignored. */
export function countClasses(labels: Int32Array, numClasses: number): number[] {
  const counts = new Array<number>(numClasses).fill(0);
  for (const label of labels) if (label >= 0) counts[label]++;
  return counts;
}

/** Returns the position of the highest number; the first of equals. */
export function mostFrequent(counts: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < counts.length; i++) if (counts[i] > counts[best]) best = i;
  return best;
}

interface PropagationSizes {
  readonly numNodes: number;
  readonly numClasses: number;
  readonly rounds: number;
}

/** Returns a score of each class for every node, row-major. Edges are followed in both directions. */
export function propagateLabels(
  { src, dst }: EdgeList,
  known: ReadonlyMap<number, number>,
  { numNodes, numClasses, rounds }: PropagationSizes,
): Float32Array {
  const degrees = new Int32Array(numNodes);
  for (let e = 0; e < src.length; e++) {
    degrees[src[e]]++;
    degrees[dst[e]]++;
  }
  let scores = new Float32Array(numNodes * numClasses);
  let next = new Float32Array(scores.length);
  const fix = (rows: Float32Array): void => {
    for (const [node, label] of known) {
      rows.fill(0, node * numClasses, (node + 1) * numClasses);
      if (label >= 0) rows[node * numClasses + label] = 1;
    }
  };
  fix(scores);
  for (let round = 0; round < rounds; round++) {
    next.fill(0);
    for (let e = 0; e < src.length; e++) {
      const [a, b] = [src[e] * numClasses, dst[e] * numClasses];
      for (let c = 0; c < numClasses; c++) {
        next[a + c] += scores[b + c];
        next[b + c] += scores[a + c];
      }
    }
    for (let node = 0; node < numNodes; node++)
      for (let c = 0, at = node * numClasses; c < numClasses; c++) next[at + c] /= Math.max(1, degrees[node]);
    fix(next);
    [scores, next] = [next, scores];
  }
  return scores;
}
