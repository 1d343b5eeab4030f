/** The answers of the server, as it declares them. */
import type { NamedMap, NamedNeighborhood } from '../../src/server/runs/graph-view.js';
import type { RunDetails, RunSummary } from '../../src/server/runs/run-summary.js';

export type {
  EventExplanation,
  Explanation,
  Fidelity,
  LinkExplanation,
  NamedEdge,
  NodeExplanation,
} from '../../src/predict/explain/explanation.js';
export type { EventFacts } from '../../src/predict/views/event-facts.js';
export type { GraphFacts } from '../../src/predict/views/graph-facts.js';
export type { BufferMemory, BufferRecord, EnteredState } from '../../src/train/run/buffer-record.js';
export type { EpochPoint, RunCurves } from '../../src/train/run/run-curves.js';
export type { NamedMap, NamedNeighborhood, RunDetails, RunSummary };

export interface RunList {
  readonly roots: readonly string[];
  readonly runs: readonly RunSummary[];
}

/** An answer of `rank`, `recommend` or `neighbors`. */
export interface RankedName {
  readonly name: string;
  readonly score: number;
  readonly probability?: number;
  readonly known?: boolean;
}
