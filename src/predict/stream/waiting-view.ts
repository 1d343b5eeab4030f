/** Answers that see the events which wait for the watermark, without changing the stream. */
import type { OpenedEventRun } from '../../train/index.js';
import type { StreamEngine } from './stream-engine.js';
import type { ReleasedColumns } from './stream-model.js';

export class WaitingView {
  /** Whether waiting events can change the answers of the model. */
  readonly isVisible: boolean;
  readonly #engine: StreamEngine;
  /** Waiting events after the entry `sequence` of the log. */
  #kept: { readonly sequence: number; readonly columns: ReleasedColumns } | null = null;

  constructor(engine: StreamEngine, run: OpenedEventRun) {
    this.#engine = engine;
    const { state } = engine.model.parts.scorer;
    this.isVisible = state?.withEvents !== undefined || readsNeighbors(run);
  }

  /** Returns the result of `work`, which sees waiting events as if they were released now. */
  seeing<T>(work: () => T): T {
    return this.#engine.model.parts.scorer.withEvents(this.#columns(), work);
  }

  #columns(): ReleasedColumns {
    const { processed: sequence, model, intake } = this.#engine;
    if (this.#kept?.sequence === sequence) return this.#kept.columns;
    const { nodes, columns } = model.parts;
    // A new name is a node from its first released event on; rows for it would change the state.
    const events = intake.waiting.inOrder().filter((event) => !intake.hasNewName(event));
    const kept = {
      src: Int32Array.from(events, ({ head }) => nodes.idOf(head, 'src') as number),
      dst: Int32Array.from(events, ({ tail }) => nodes.idOf(tail, 'dst') as number),
      time: Float64Array.from(events, ({ time }) => time),
      ...columns.columns(events),
    };
    this.#kept = { sequence, columns: kept };
    return kept;
  }
}

/** Returns whether scores depend on events of the graph besides the state. */
function readsNeighbors({ parts, config }: OpenedEventRun): boolean {
  const { neighbors, pairDepth = 0 } = parts.needs;
  // An identity architecture samples neighbours for mail alone.
  const isIdentity = config.model.sections?.gnn.arch === 'identity';
  return pairDepth > 0 || (neighbors !== undefined && !isIdentity);
}
