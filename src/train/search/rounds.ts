/**
 * The rounds of a search. A plain search trains every trial in full. Successive halving (Jamieson and Talwalkar, 2016)
 * trains all of them a little, keeps the best of each round, and trains the last one in full.
 */
import { ConfigError } from '../../util/errors.js';

/**
 * `plain`: every trial in full. `epoch`: early rounds have fewer epochs, and a trial continues from its checkpoint.
 * `rank`: early rounds also have embeddings of at most 64 columns, because learning rates and penalties carry over.
 * `graph`: early rounds train on a core of the graph. `combined`: on a core, and for fewer epochs.
 */
export const variants = ['plain', 'epoch', 'rank', 'graph', 'combined'] as const;
export type Variant = (typeof variants)[number];

export interface Round {
  readonly trials: number;
  /** Epochs of a trial at the end of the round, those of earlier rounds included. */
  readonly epochs: number;
  /** Columns of the embeddings; null: as configured. */
  readonly rank: number | null;
  /** The fraction of the training edges, in the largest core that has no more; null: the whole graph. */
  readonly fraction: number | null;
}

export interface RoundOptions {
  readonly variant: Variant;
  readonly trials: number;
  /** Epochs of a full run. */
  readonly epochs: number;
  /** Columns of the embeddings of a full run; null if there is more than one layer. */
  readonly width: number | null;
  /** One of this many trials stays after a round. */
  readonly eta: number;
  /** Cost of all rounds but the last, in full runs. */
  readonly budget: number;
}

const lowRank = 64;

export function planRounds({ variant, trials, epochs, width, eta, budget }: RoundOptions): Round[] {
  if (['rank', 'graph', 'combined'].includes(variant) && width === null)
    throw new ConfigError(
      `search: expected one EMBEDDING layer for the variant ${variant}, got an encoder with other layers. Use the variant epoch.`,
    );
  const full = { epochs, rank: null, fraction: null };
  if (variant === 'plain' || trials === 1) return [{ trials, ...full }];
  let halvings = 1;
  while (eta ** halvings < trials) halvings++;
  const rank = variant === 'rank' ? Math.min(lowRank, width as number) : null;
  const rounds = Array.from({ length: halvings }, (_, i) => {
    const share = Math.min(1, ((budget / halvings) * eta ** i) / trials);
    // A budget is spent on one factor of the cost, or half of it on each of two.
    const time = variant === 'graph' ? 1 : variant === 'epoch' ? share : Math.sqrt(share);
    const edges = variant === 'graph' ? share : variant === 'combined' ? Math.sqrt(share) : 1;
    return {
      trials: Math.ceil(trials / eta ** i),
      epochs: Math.min(epochs, Math.max(1, Math.ceil(time * epochs))),
      ...{ rank, fraction: edges < 1 ? edges : null },
    };
  });
  return [...rounds, { trials: 1, ...full }];
}

/** Returns the variant that suits a graph: full runs of small graphs take seconds. */
export function defaultVariant(numNodes: number, width: number | null): Variant {
  if (numNodes <= 5000) return 'plain';
  if (width === null) return 'epoch';
  return numNodes <= 60_000 ? 'rank' : 'combined';
}
