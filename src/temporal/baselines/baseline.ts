import type { StateSnapshot } from '../temporal-state.js';

/**
 * What a baseline is: it sees events one by one, in order of time, and says how likely a meeting looks from what it has
 * seen. No layers, no gradients through time; whatever a trained model reports should be read against these.
 */
export interface TemporalBaseline {
  readonly name: string;
  /** Forgets all events, and what was learnt. */
  reset(): void;
  /** Takes in an event. Times do not go back. */
  observe(src: number, dst: number, time: number): void;
  /** Higher is likelier; only the order of scores means something. */
  score(src: number, dst: number, time: number): number;
  /** Adjusts to one example of training, before it is observed: label 1 for an event, 0 for a negative. */
  learn?(src: number, dst: number, time: number, label: number): void;
}

/** A baseline that a run can have: what it knows can be saved. */
export interface DurableBaseline extends TemporalBaseline {
  readonly bytes: number;
  /** Forgets all events, and nothing that was learned. */
  forget(): void;
  snapshot(): StateSnapshot;
  restore(saved: StateSnapshot): void;
}
