/**
 * Base of the models in discrete time: a step takes the graph and features of one snapshot and the state of the step
 * before; a sequence is its steps in order. All steps use the same nodes.
 */
import type { MessageGraph } from '../../graph/index.js';
import { Module } from '../../nn/index.js';
import type { Tensor } from '../../tensor/index.js';
import { expected, ShapeError } from '../../util/errors.js';

export interface SnapshotStep<State> {
  /** Embeddings of all nodes [N, hidden]. */
  readonly h: Tensor;
  /** Input of the next step. */
  readonly state: State;
}

export abstract class SnapshotModel<State> extends Module {
  /** One snapshot: x [N, in]; without a state it is the first. */
  abstract step(graph: MessageGraph, x: Tensor, state?: State): SnapshotStep<State>;

  /** Embeddings of every snapshot; `features` one tensor per graph, or one for all. */
  forward(graphs: readonly MessageGraph[], features: Tensor | readonly Tensor[]): Tensor[] {
    const each = Array.isArray(features)
      ? (features as readonly Tensor[])
      : graphs.map(() => features as Tensor);
    if (each.length !== graphs.length)
      throw new ShapeError(
        expected(
          this.constructor.name,
          `${graphs.length} tensors (one per snapshot)`,
          'features',
          each.length,
        ),
      );
    const outputs: Tensor[] = [];
    let state: State | undefined;
    for (const [i, graph] of graphs.entries()) {
      const next: SnapshotStep<State> = this.step(graph, each[i], state);
      outputs.push(next.h);
      state = next.state;
    }
    return outputs;
  }
}
