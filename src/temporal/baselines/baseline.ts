import type { CandidateIndex } from '../candidates.js';
import type { StateSnapshot } from '../temporal-state.js';

/**
 * A baseline observes events one by one, in order of time, and scores pairs from what it has observed, without layers or gradients
 * through time. Results of trained models should be compared with those of baselines.
 */
export interface TemporalBaseline {
  readonly name: string;
  /** Removes all events and all that was learned. */
  reset(): void;
  /** Observes an event. Times must not decrease. */
  observe(src: number, dst: number, time: number): void;
  /** Scores a pair: higher is likelier; only the order has a meaning. */
  score(src: number, dst: number, time: number): number;
  /** Writes the scores of a source with all candidates into `out`: those that `score` returns, in less time. */
  scoreMany?(src: number, candidates: CandidateIndex, time: number, out: Float64Array): void;
  /** Fits one training example, before it is observed: label 1 for an event, 0 for a negative. */
  learn?(src: number, dst: number, time: number, label: number): void;
}

/** A baseline that runs can use: its state can be saved. */
export interface DurableBaseline extends TemporalBaseline {
  readonly bytes: number;
  /** Removes all events; learned parameters stay. */
  forget(): void;
  snapshot(): StateSnapshot;
  restore(saved: StateSnapshot): void;
}
