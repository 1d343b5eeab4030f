/**
 * `SnapshotLinks`: links of the next snapshot from the embeddings that a model in discrete time makes of the past ones. A node
 * has its features as input, or a learned row where nodes have none; pairs of embeddings are scored as those of other
 * temporal models are.
 */
import type { TemporalGraph } from '../../graph/index.js';
import { Embedding, Module } from '../../nn/index.js';
import { concat, gatherRows, type Tensor, zeros } from '../../tensor/index.js';
import { expected, StateError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { TemporalBatch } from '../batch.js';
import { EdgePredictor, type EdgeScores } from '../layers/edge-predictor.js';
import type { TemporalOutput } from '../models/output.js';
import type { EventSlice } from '../steps.js';
import type { SnapshotModel } from './snapshot-model.js';
import { SnapshotState } from './snapshot-state.js';
import { graphOfEdges } from './snapshots-of.js';

export interface SnapshotLinksOptions<S> {
  readonly graph: Pick<TemporalGraph, 'numNodes' | 'directed' | 'nodeFeatures'>;
  /** Makes the model over snapshots for rows of so many numbers. */
  readonly recurrent: (into: number) => SnapshotModel<S>;
  /** Width of its embeddings. */
  readonly dimOut: number;
  /** Width of learned rows of nodes, where these have no features. */
  readonly dimNode: number;
  readonly windowOf: (time: number) => number;
  /** Snapshots that gradients go back through. */
  readonly depth: number;
}

export class SnapshotLinks<S> extends Module {
  readonly dimOut: number;
  /** Null where nodes have features. */
  readonly nodes: Embedding | null;
  readonly recurrent: SnapshotModel<S>;
  readonly predictor: EdgePredictor;
  readonly #options: SnapshotLinksOptions<S>;
  readonly #state: SnapshotState<S>;

  constructor(options: SnapshotLinksOptions<S>) {
    super();
    checkOptionNames('SnapshotLinks', options, {
      ...{ graph: true, recurrent: true, dimOut: true, dimNode: true },
      ...{ windowOf: true, depth: true },
    });
    const { graph, dimNode, dimOut, windowOf, depth } = options;
    this.#options = options;
    this.dimOut = dimOut;
    this.nodes = graph.nodeFeatures === null ? new Embedding(graph.numNodes, dimNode) : null;
    this.recurrent = options.recurrent(graph.nodeFeatures?.shape[1] ?? dimNode);
    this.predictor = new EdgePredictor(dimOut);
    this.#state = new SnapshotState<S>({
      ...{ numNodes: graph.numNodes, directed: graph.directed, windowOf, depth },
      step: (snapshot, before) => this.recurrent.step(snapshot, this.#rows(), before).state,
    });
  }

  /** The state that events change; pass it to the runtime. */
  get state(): SnapshotState<S> {
    return this.#state;
  }

  forward(batch: TemporalBatch): TemporalOutput {
    const { rootNodes, rootTimes } = batch;
    const later = this.#later(rootTimes);
    const all = later.reduce((sum, flag) => sum + flag, 0);
    const mixed = all > 0 && all < later.length;
    const now = all < later.length || later.length === 0 ? this.#embed(false) : null;
    const next = all > 0 ? this.#embed(true) : null;
    const rows = mixed
      ? rootNodes.map((node, i) => node + later[i] * this.#options.graph.numNodes)
      : rootNodes;
    const table = mixed ? concat([now as Tensor, next as Tensor], 0) : ((now ?? next) as Tensor);
    return { embeddings: gatherRows(table, rows) };
  }

  /** All events of a window use the same embeddings, so candidates are embedded once for them. */
  scoreCandidates({ src, dst, times }: EventSlice, candidates: Int32Array) {
    const later = this.#later(times);
    const tables = [false, true].map((isLater) =>
      later.includes(isLater ? 1 : 0) ? this.#embed(isLater) : null,
    );
    const scores: { positive: Tensor; candidates: Tensor }[] = [];
    for (let from = 0, to = 0; from < src.length; from = to) {
      while (to < src.length && later[to] === later[from]) to++;
      const table = tables[later[from]] as Tensor;
      const rows = gatherRows(table, src.subarray(from, to));
      const own = Int32Array.from({ length: to - from }, (_, i) => i);
      const ends = gatherRows(table, dst.subarray(from, to));
      scores.push({
        positive: this.predictor.pairs(
          concat([rows, ends], 0),
          own,
          own.map((i) => i + own.length),
        ),
        candidates: this.predictor.among(rows, gatherRows(table, candidates)),
      });
    }
    return {
      positive: join(scores.map((one) => one.positive)),
      candidates: join(scores.map((one) => one.candidates)),
    };
  }

  score({ embeddings }: TemporalOutput, batch: TemporalBatch): EdgeScores {
    return this.predictor.forward(embeddings, batch);
  }

  /** Returns for each time whether its window is after the open one. */
  #later(times: Float64Array): Uint8Array {
    const open = this.#state.openWindow;
    return Uint8Array.from(times, (time) => {
      const window = this.#options.windowOf(time);
      if (open !== undefined && window < open)
        throw new StateError(
          expected(
            'SnapshotLinks',
            `a time from window ${open} on, which the state has reached,`,
            'a root',
            time,
          ),
        );
      return open !== undefined && window > open ? 1 : 0;
    });
  }

  /** Embeddings of all nodes [N, d]. */
  #embed(later: boolean): Tensor {
    const { base, graphs } = this.#state.view(later);
    const { graph } = this.#options;
    const none = new Int32Array(0);
    // Before the first snapshot is closed there are no past edges.
    const seen = graphs.length > 0 ? graphs : [graphOfEdges(none, none, graph)];
    const x = this.#rows();
    let [h, state]: [Tensor | null, S | undefined] = [null, base];
    for (const snapshot of seen) ({ h, state } = this.recurrent.step(snapshot, x, state));
    return h as unknown as Tensor;
  }

  #rows(): Tensor {
    return this.nodes?.weight ?? (this.#options.graph.nodeFeatures as Tensor);
  }
}

function join(parts: readonly Tensor[]): Tensor {
  return parts.length === 0 ? zeros([0]) : concat([...parts], 0);
}
