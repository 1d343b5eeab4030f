/**
 * First stage of a model: memory of the nodes of a batch after their mail, and the rows that the layers start from.
 *
 * With time_input 'mail' the updater runs once per node, since the result does not depend on the query time; rows
 * of the sample then share a node's row. With 'query' it runs once per row of the sample, a (node, time) pair.
 */
import { parameterOptions } from '../../nn/factory.js';
import { Linear, Module, type ParameterOptions } from '../../nn/index.js';
import { add, type FloatDType, gatherRows, type Tensor } from '../../tensor/index.js';
import { expected, InternalError, ShapeError, StateError } from '../../util/errors.js';
import type { TemporalBatch } from '../batch.js';
import type { TemporalConfig } from '../config/index.js';
import type { MemorySection } from '../config/keys.js';
import { type MailBoxRows, wholeMailOf } from '../mailbox/rows.js';
import {
  GRUMemoryUpdater,
  IdentityMemoryUpdater,
  type MemoryUpdater,
  RNNMemoryUpdater,
  TransformerMemoryUpdater,
} from '../updaters/index.js';
import { distinct, mailFeatures, selectRows, selectState, selectTimes } from './state-rows.js';

export interface MemoryStageSizes extends ParameterOptions {
  readonly dimNode: number;
  readonly dimEdge: number;
}

/** Memory of some rows, and the row of every source of a window of the sample. */
export interface MemoryView {
  readonly updated: Tensor;
  readonly updatedTime: Float64Array;
  /** Time of the stored memory. */
  readonly storedTime: Float64Array;
  /** Memory with node features: the input of the layers. */
  readonly h: Tensor;
  /** Row of `h` and `updated` of every source row of the window. */
  readonly rowOf: Int32Array;
}

export class MemoryStage extends Module {
  readonly param: MemorySection;
  readonly dimEdge: number;
  readonly updater: MemoryUpdater;
  /** Maps node features to the width of the memory where they differ. */
  readonly nodeMap: Linear | null;
  /** Whether only roots are embedded; neighbours get mail but are not read. */
  readonly rootsOnly: boolean;
  readonly #combines: boolean;

  constructor(config: TemporalConfig, sizes: MemoryStageSizes) {
    super();
    const { memory } = config;
    this.param = memory;
    this.dimEdge = sizes.dimEdge;
    this.updater = makeUpdater(config, sizes);
    this.#combines = memory.combine_node_feature && sizes.dimNode > 0;
    const maps = this.#combines && sizes.dimNode !== memory.dim_out;
    this.nodeMap = maps ? new Linear(sizes.dimNode, memory.dim_out, parameterOptions(sizes)) : null;
    this.rootsOnly = config.gnn.arch === 'identity';
  }

  /** One view per window; with time_input 'mail' all share one tensor. */
  forward(batch: TemporalBatch): readonly MemoryView[] {
    const { state } = batch;
    if (state === null)
      throw new StateError(
        'GeneralModel: expected the state of its nodes for batch, got null. Give the loader a mailbox.',
      );
    const windows = this.rootsOnly
      ? [batch.nodeOfRow[0].subarray(0, batch.rootNodes.length)]
      : [...batch.nodeOfRow];
    if (this.param.time_input === 'query')
      return windows.map((nodes, w) => this.#view(batch, nodes, this.#rowTimes(batch, w), null));
    if (!this.rootsOnly) {
      const shared = this.#view(batch, null, null, windows[0]);
      return windows.map((rowOf) => ({ ...shared, rowOf }));
    }
    const { unique, positions } = distinct(windows[0]);
    return [this.#view(batch, unique, null, positions)];
  }

  /** @param nodes positions in batch.nodes, one per row; null for all of them in order. */
  #view(
    batch: TemporalBatch,
    nodes: Int32Array | null,
    times: Float64Array | null,
    rowOf: Int32Array | null,
  ): MemoryView {
    if (batch.state === null) throw new InternalError('a view of a batch without state');
    const rows = nodes === null ? batch.state : selectState(batch.state, nodes);
    const { memory, time } = this.updater.forward(rows, this.#features(batch, rows), times);
    return {
      updated: memory,
      updatedTime: time,
      storedTime: rows.memoryTime,
      h: this.#withFeatures(memory, batch, nodes),
      rowOf: rowOf ?? Int32Array.from({ length: rows.memoryTime.length }, (_, i) => i),
    };
  }

  /** Features of the mails, or whole mails with them. */
  #features(batch: TemporalBatch, rows: MailBoxRows): Tensor | null {
    if (this.dimEdge === 0) return null;
    if (rows.mailFeatures !== undefined) return rows.mailFeatures;
    if (batch.edgeFeatures === null || batch.featureWidth !== this.dimEdge) {
      const got = batch.edgeFeatures === null ? null : `rows of ${batch.featureWidth}`;
      throw new ShapeError(expected('GeneralModel', `rows of ${this.dimEdge} numbers`, 'edgeFeatures', got));
    }
    const whole = wholeMailOf(rows, batch.edgeFeatures);
    if (whole !== null && whole.shape[1] === rows.mail.shape[1] + this.dimEdge) return whole;
    const dtype = rows.memory.dtype as FloatDType;
    return mailFeatures(batch.edgeFeatures, batch.featureWidth, rows.mailEvents, dtype);
  }

  #withFeatures(memory: Tensor, batch: TemporalBatch, nodes: Int32Array | null): Tensor {
    if (!this.#combines) return memory;
    const all = checkNodeFeatures(batch);
    const own = nodes === null ? all : gatherRows(all, nodes);
    return add(memory, this.nodeMap === null ? own : this.nodeMap.forward(own));
  }

  #rowTimes(batch: TemporalBatch, window: number): Float64Array {
    if (this.rootsOnly) return batch.rootTimes;
    const hops = window === 0 ? batch.hops : batch.snapshots[window];
    return hops.length === 0 ? batch.rootTimes : hops[hops.length - 1].srcTimes;
  }
}

export function checkNodeFeatures(batch: TemporalBatch): Tensor {
  const { nodeFeatures } = batch;
  if (nodeFeatures === undefined || nodeFeatures === null)
    throw new StateError(
      'GeneralModel: expected features of its nodes for batch, got none. Build the model with dimNode 0, or give the graph node features.',
    );
  return nodeFeatures;
}

/** Memory of some rows of a view and the times they are of. */
export function rowsOf(view: MemoryView, roots: Int32Array): Int32Array {
  return selectRows(view.rowOf, roots);
}

export function timesOf(view: MemoryView, roots: Int32Array): Float64Array {
  return selectTimes(view.updatedTime, rowsOf(view, roots));
}

function makeUpdater({ memory, train }: TemporalConfig, sizes: MemoryStageSizes): MemoryUpdater {
  const { dimNode: _, ...others } = sizes;
  const options = {
    ...others,
    dimMemory: memory.dim_out,
    dimTime: memory.dim_time,
    timeInput: memory.time_input,
    emptyMail: memory.empty_mail,
  };
  switch (memory.memory_update) {
    case 'gru':
      return new GRUMemoryUpdater(options);
    case 'rnn':
      return new RNNMemoryUpdater(options);
    case 'transformer':
      return new TransformerMemoryUpdater({
        ...options,
        heads: memory.attention_head,
        dropout: train.dropout,
        attDropout: train.att_dropout,
      });
    case 'identity':
      return new IdentityMemoryUpdater({ timeInput: memory.time_input, emptyMail: memory.empty_mail });
  }
}
