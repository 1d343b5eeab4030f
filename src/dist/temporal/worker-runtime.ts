/**
 * Steps of a temporal model on several workers. The order is that of `TemporalRuntime`: memory from before the batch → scores → loss
 * and gradients of each chunk → gradients of all chunks → step → the deltas of all chunks are committed. Every worker has the whole
 * model and ends each step with the same parameters.
 *
 * Random numbers of a chunk (dropout) depend on (seed, epoch, step, chunk) alone; the global generator is not advanced. So with a
 * division by position every bit is independent of the number of workers.
 */
import { clipGradNorm } from '../../nn/index.js';
import type { SharedMailBox, TemporalBatch, TemporalModel } from '../../temporal/index.js';
import type { PlainDelta } from '../../temporal/mailbox/check-delta.js';
import type { StateDelta } from '../../temporal/mailbox/rows.js';
import { joinDeltas } from '../../temporal/mailbox/snapshot.js';
import type { TemporalOutput } from '../../temporal/models/output.js';
import type { TemporalRuntimeOptions } from '../../temporal/runtime.js';
import type { StepResult, TemporalSteps } from '../../temporal/steps.js';
import { finiteScores, type MailOptions, pairLoss, stateDelta } from '../../temporal/steps.js';
import {
  backward,
  fromTypedArray,
  gatherRows,
  mul,
  noGrad,
  randomState,
  scope,
  setRandomState,
} from '../../tensor/index.js';
import { StateError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { Random } from '../../util/philox.js';
import type { Communicator } from '../comm/communicator.js';
import { gatherByPosition } from './gather-scores.js';
import { GradientTree } from './gradient-tree.js';
import type { WorkerBatch } from './worker-loader.js';

export interface WorkerRuntimeOptions extends Omit<TemporalRuntimeOptions, 'state' | 'candidates'> {
  readonly comm: Communicator;
  readonly seed?: number;
}

export class WorkerRuntime implements TemporalSteps<WorkerBatch> {
  readonly model: TemporalModel;
  readonly mailbox: SharedMailBox | null;
  readonly #options: WorkerRuntimeOptions;
  readonly #mail: MailOptions;
  readonly #tree: GradientTree;
  readonly #random: Random;

  constructor(options: WorkerRuntimeOptions) {
    checkOptionNames('WorkerRuntime', options, {
      model: true,
      mailbox: true,
      optimizer: true,
      maxGradNorm: true,
      loss: true,
      useSrcEmb: true,
      useDstEmb: true,
      comm: true,
      seed: true,
    });
    this.model = options.model;
    this.mailbox = options.mailbox ?? null;
    this.#options = options;
    this.#mail = { useSrcEmb: options.useSrcEmb ?? false, useDstEmb: options.useDstEmb ?? false };
    this.#tree = new GradientTree(options.comm, this.model.parameters(), 1);
    this.#random = new Random(options.seed ?? 0, dropoutStream);
  }

  /** Trains on a batch, then commits it. The loss is the mean over the events of all workers. */
  train(batch: WorkerBatch): { readonly loss: number } {
    const { optimizer, maxGradNorm = 0, comm } = this.#options;
    if (optimizer === undefined || optimizer === null)
      throw new StateError(
        'WorkerRuntime.train: expected an optimizer, got none. Pass one to the constructor.',
      );
    this.#mode(true);
    const changes: PlainDelta[] = [];
    const before = randomState();
    const draws = this.#random.split(batch.epoch).split(batch.step);
    const branches = batch.chunks.map((chunk, i) =>
      chunk === null
        ? null
        : (): number[] => {
            setRandomState(draws.split(comm.rank * batch.division.chunksPerWorker + i).state());
            return [this.#learn(chunk, chunk.eventRows.length / batch.eventRows.length, changes)];
          },
    );
    const { sum, handle } = this.#tree.start(branches);
    setRandomState(before);
    return scope(() => {
      const delta = this.mailbox === null ? null : this.#join(this.mailbox, changes);
      // A delta that will be rejected must not have changed the parameters.
      if (delta !== null) this.mailbox?.check(delta);
      handle.wait();
      const [loss] = this.#tree.apply(sum);
      if (maxGradNorm > 0) clipGradNorm(this.model.parameters(), maxGradNorm);
      optimizer.step();
      if (delta !== null) this.mailbox?.commit(delta);
      return { loss };
    });
  }

  /** Scores a batch without learning, then commits it; all workers get the scores of all its events. */
  evaluate(batch: WorkerBatch): StepResult {
    const results: StepResult[] = [];
    this.#forward(batch, (chunk, out) => results.push(finiteScores(null, this.model.score(out, chunk))));
    const gather = (rows: readonly Float32Array[], width: number): Float32Array =>
      gatherByPosition(this.#options.comm, batch, rows, width);
    return {
      loss: 0,
      positive: gather(
        results.map(({ positive }) => positive),
        1,
      ),
      negative: gather(
        results.map(({ negative }) => negative),
        batch.amount,
      ),
    };
  }

  /** Commits a batch without scoring it. */
  observe(batch: WorkerBatch): void {
    if (this.mailbox !== null) this.#forward(batch, () => undefined);
  }

  /** Returns the embeddings of the sources of a batch, each at the time of its event, row-major [B·d]; then commits it. */
  embed(batch: WorkerBatch): Float32Array {
    const rows: Float32Array[] = [];
    let width = 0;
    this.#forward(batch, (chunk, out) => {
      width = out.embeddings.shape[1];
      rows.push(Float32Array.from(gatherRows(out.embeddings, chunk.srcRoots).dataSync() as Float32Array));
    });
    // A worker without events does not know the width.
    const most = Int32Array.of(width);
    this.#options.comm.allReduce(most, 'max');
    return gatherByPosition(this.#options.comm, batch, rows, most[0]);
  }

  /** Leaves the gradients of a chunk at the parameters; returns its contribution to the loss. */
  #learn(chunk: TemporalBatch, fraction: number, changes: PlainDelta[]): number {
    return scope(() => {
      const out = this.model.forward(chunk);
      const scores = this.model.score(out, chunk);
      const { loss: lossOf = pairLoss } = this.#options;
      const loss = mul(this.model.loss?.(scores, chunk) ?? lossOf(scores), fraction);
      const step = finiteScores(loss, scores);
      if (this.mailbox !== null) changes.push(this.#change(this.mailbox, chunk, out));
      this.#options.optimizer?.zeroGrad();
      backward(loss);
      return step.loss;
    });
  }

  #forward(batch: WorkerBatch, use: (chunk: TemporalBatch, out: TemporalOutput) => void): void {
    this.#mode(false);
    const changes: PlainDelta[] = [];
    noGrad(() => {
      for (const chunk of batch.chunks)
        if (chunk !== null)
          scope(() => {
            const out = this.model.forward(chunk);
            use(chunk, out);
            if (this.mailbox !== null) changes.push(this.#change(this.mailbox, chunk, out));
          });
      scope(() => {
        if (this.mailbox !== null) this.mailbox.commit(this.#join(this.mailbox, changes));
      });
    });
  }

  /** Returns a copy of the delta of a chunk, which outlives its tensors. */
  #change(mailbox: SharedMailBox, chunk: TemporalBatch, out: TemporalOutput): PlainDelta {
    const delta = stateDelta(mailbox, chunk, out, this.#mail);
    const plain = { ...delta, memory: delta.memory.floats, mail: delta.mail.floats };
    return joinDeltas([plain], delta.memory.dtype as 'f32');
  }

  #join({ shape: { width }, dtype }: SharedMailBox, changes: readonly PlainDelta[]): StateDelta {
    const all = joinDeltas(changes, dtype);
    return {
      ...all,
      memory: fromTypedArray(all.memory, [all.nodes.length, width]),
      mail: fromTypedArray(all.mail, [all.mailNodes.length, 2 * width]),
    };
  }

  #mode(training: boolean): void {
    if (this.model.training !== training) this.model.train(training);
  }
}

/** Separates these draws from others with the same seed. */
const dropoutStream = 0x64726f70;
