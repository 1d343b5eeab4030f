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
  const epochs = small ? 100 : 40;
  return {
    ...common,
    ...{ against: 'ALL', epochs, epochsPerEval: 5, patience: small ? 8 : 4 },
    width: small ? 128 : widestThatFits(numNodes, numTrain, epochs, seconds),
    batchSize: numTrain < 20_000 ? 100 : numTrain < 200_000 ? 500 : 1000,
    penalty: penaltyFor(numNodes, numTrain),
    relationWeight: !typed ? 0 : numRelations >= 100 ? 1 : 0.125,
  };
}

/** Sparse graphs overfit sooner: a node is trained by few edges. */
function penaltyFor(numNodes: number, numTrain: number): number {
  const edgesPerNode = (2 * numTrain) / numNodes;
  if (edgesPerNode < 8) return 0.1;
  return numNodes <= 500 ? 0.02 : 0.03;
}

function widestThatFits(numNodes: number, numTrain: number, epochs: number, seconds: number): number {
  const most = seconds > defaultSeconds ? Number.POSITIVE_INFINITY : widestByDefault;
  const fits = widths.filter(
    (width) => width <= most && epochs * epochSeconds(numNodes, numTrain, width) <= seconds,
  );
  return fits.at(-1) ?? widths[0];
}

/**
 * Estimates an epoch against all nodes. Queries with several answers share a row of scores, about 2.5 edges each. A score
 * costs three products and one exponential.
 */
function epochSeconds(numNodes: number, numTrain: number, width: number): number {
  const rows = (2 * numTrain) / 2.5;
  return rows * numNodes * (0.043 * width + 1.05) * 1e-9;
}
