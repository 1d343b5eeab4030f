/**
 * Settings of link prediction for a graph of a given size: the form of training, widths, penalties and numbers of epochs that
 * `skein config` prints and `fitLinks` trains with. They depend on counts and on the requested time alone, never on
 * the clock: the cost of an epoch comes from fixed rates of two processor cores.
 */
import type { DatasetFacts } from './check-dataset.js';

export interface LinkSettings {
  /** ALL: every query is scored against all nodes. SAMPLED: against shared negatives. */
  readonly against: 'ALL' | 'SAMPLED';
  readonly decoder: 'COMPLEX' | 'DOT';
  /** Numbers per node. */
  readonly width: number;
  readonly batchSize: number;
  readonly epochs: number;
  readonly epochsPerEval: number;
  /** Evaluations without improvement. */
  readonly patience: number;
  /** The learning rate of Adagrad. */
  readonly learningRate: number;
  /** Weight of the N3 penalty; 0: none. */
  readonly penalty: number;
  /** Weight of relation prediction; 0: none. */
  readonly relationWeight: number;
  /** Negatives of each end for SAMPLED. */
  readonly negatives: number;
  /** Validation edges that are ranked; −1: all. */
  readonly validationEdges: number;
}

/** The time that settings are chosen for if none is given. */
const defaultSeconds = 30 * 60;

/** Above this, scores against all nodes cost more than they gain. */
const mostNodesForAll = 60_000;
const widths = [64, 128, 256, 512, 1000, 2000];
/** The widest row unless more time than the default is given: wider ones cost memory and slow answers down. */
const widestByDefault = 512;

/** Returns settings for a graph. @param seconds training time on two cores that they are chosen for */
export function chooseLinkSettings(
  facts: DatasetFacts | undefined,
  seconds: number = defaultSeconds,
): LinkSettings {
  const numNodes = Math.max(1, facts?.num_nodes ?? 10_000);
  const numTrain = Math.max(1, facts?.num_train ?? 100_000);
  const numRelations = facts?.num_relations ?? 10;
  const typed = numRelations > 1 && facts?.has_relations !== false;
  const common = {
    decoder: typed ? ('COMPLEX' as const) : ('DOT' as const),
    validationEdges: 5000,
    negatives: 500,
    learningRate: 0.1,
  };
  if (numNodes > mostNodesForAll) {
    return {
      ...common,
      ...{ against: 'SAMPLED', width: numNodes > 1_000_000 ? 100 : 128, epochs: 30, epochsPerEval: 5 },
      ...{ batchSize: numTrain > 10_000_000 ? 10_000 : 1000, patience: 3, penalty: 0, relationWeight: 0 },
      negatives: Math.min(1000, Math.ceil(numNodes / 16)),
    };
  }
  const small = numNodes <= 500;
  const size = { numNodes, numTrain, numRelations };
  const width = small ? 128 : widestThatFits(size, seconds);
  return {
    ...common,
    ...{ against: 'ALL', width, epochsPerEval: 5, patience: small ? 8 : 4 },
    epochs: small ? 100 : epochsThatFit(size, width, seconds),
    batchSize: numTrain < 20_000 ? 100 : numTrain < 200_000 ? 500 : 1000,
    // With few edges per node, and so few steps, a larger rate reaches the same accuracy in a third of the epochs.
    learningRate: isSparse(size) && !small ? 0.3 : common.learningRate,
    penalty: penaltyFor(size),
    relationWeight: !typed ? 0 : numRelations >= 100 ? 1 : 0.125,
  };
}

interface GraphSize {
  readonly numNodes: number;
  readonly numTrain: number;
  readonly numRelations: number;
}

/** Below this many edges per node a graph is sparse: it overfits sooner, and few of its queries have several answers. */
const fewEdgesPerNode = 8;

function isSparse({ numNodes, numTrain }: GraphSize): boolean {
  return (2 * numTrain) / numNodes < fewEdgesPerNode;
}

/** Follows the penalties that were best for published graphs: sparse ones and those with many relations need more. */
function penaltyFor(size: GraphSize): number {
  if (isSparse(size)) return 0.1;
  if (size.numNodes <= 500) return 0.02;
  return size.numRelations >= 100 ? 0.05 : 0.01;
}

/** Most of the accuracy comes from the first epochs, and wide rows need fewer: width is worth more than epochs above these. */
const fewestEpochs = 20;
const mostEpochs = 40;

function widestThatFits(size: GraphSize, seconds: number): number {
  const most = seconds > defaultSeconds ? Number.POSITIVE_INFINITY : widestByDefault;
  const fits = widths.filter((width) => width <= most && fewestEpochs * epochSeconds(size, width) <= seconds);
  return fits.at(-1) ?? widths[0];
}

/** Returns a multiple of 5, since every fifth epoch is evaluated. */
function epochsThatFit(size: GraphSize, width: number, seconds: number): number {
  const epochs = Math.floor(seconds / epochSeconds(size, width) / 5) * 5;
  return Math.min(mostEpochs, Math.max(fewestEpochs, epochs));
}

/**
 * Estimates an epoch against all nodes. Queries with several answers share a row of scores: about 3.2 edges in dense graphs,
 * 1.7 in sparse ones. A score costs three products and one exponential.
 */
function epochSeconds(size: GraphSize, width: number): number {
  const rows = (2 * size.numTrain) / (isSparse(size) ? 1.7 : 3.2);
  return rows * size.numNodes * (0.043 * width + 1.05) * 1e-9;
}
