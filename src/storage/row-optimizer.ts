/**
 * Optimisers for tables of which a step updates only some rows: values and optimiser state are updated in place in a
 * partition buffer, in one pass; rows without a gradient do not change.
 *
 * The state is in columns of the same table, so it is swapped, written and checkpointed with the values. Arithmetic is
 * f32 for all column types; half-precision columns are rounded once, to nearest, ties to even.
 */
import { type AsyncKernels, asyncKernels, type Kernels, kernels } from '../native/index.js';
import { checkInteger, checkNumber, expected, ValueError } from '../util/errors.js';
import type { PartitionBuffer } from './partition-buffer.js';
import type { ColumnInit } from './partition-transfer.js';
import type { ColumnType, TableColumn } from './table-manifest.js';

/** The state that a checkpoint stores in addition to the table, as JSON. */
export interface RowOptimizerState {
  readonly type: string;
  readonly steps: number;
  readonly learningRate: number;
}

export interface RowOptimizer {
  readonly type: string;
  /** The number of state columns per column of values. */
  readonly stateColumns: number;
  /** The rate, which a schedule may change between steps. */
  learningRate: number;
  /** Returns the column of values `name` followed by its state columns, `name.…`. */
  columns(name: string, width: number, dtype?: ColumnType): TableColumn[];
  /** Fills new state columns; does not change other columns. */
  readonly init: ColumnInit;
  /** Applies gradient row i to row localIds[i] of `column` (the first by default); ids must be unique. */
  step(buffer: PartitionBuffer, localIds: Int32Array, gradient: Float32Array, column?: string): void;
  /**
   * Like `step`, on the kernels' threads; rows and gradient must not be changed until the promise settles, and the
   * gradient's memory cannot be transferred to another thread afterwards (the ids are copied). Steps on the same rows
   * must be awaited in sequence.
   */
  stepAsync(
    buffer: PartitionBuffer,
    localIds: Int32Array,
    gradient: Float32Array,
    column?: string,
  ): Promise<void>;
  /** Runs a step on arrays that are not in a buffer, such as those of a device, with the current kernels. */
  stepArrays(
    values: Float32Array,
    states: readonly Float32Array[],
    ids: Int32Array,
    gradient: Float32Array,
    width: number,
  ): void;
  state(): RowOptimizerState;
  restore(state: RowOptimizerState): void;
}

/** The kernels of a step: synchronous, or on the kernels' threads. */
export type StepKernels = Kernels | AsyncKernels;

/** The base of row optimisers. A custom one defines its state columns and the update of rows. */
export abstract class BaseRowOptimizer implements RowOptimizer {
  abstract readonly type: string;
  /** The suffixes of the names of the state columns. */
  protected abstract readonly suffixes: readonly string[];
  /** Whether a state column has one number per row, in place of one per element. */
  protected readonly statePerRow: boolean = false;
  /** The initial value of the state. */
  protected readonly initialState: number = 0;
  #learningRate = 0;
  /** The number of steps of the table. */
  protected steps = 0;

  constructor(learningRate: number) {
    this.learningRate = learningRate;
  }

  get learningRate(): number {
    return this.#learningRate;
  }

  set learningRate(value: number) {
    this.#learningRate = checkNumber('RowOptimizer', 'learningRate', value, 0);
  }

  get stateColumns(): number {
    return this.suffixes.length;
  }

  columns(name: string, width: number, dtype: ColumnType = 'f32'): TableColumn[] {
    const states = this.suffixes.map((suffix) => `${name}.${suffix}`);
    return [
      { name, width, dtype, writable: true },
      ...states.map(
        (state): TableColumn => ({
          ...{ name: state, width: this.statePerRow ? 1 : width, dtype: 'f32', writable: true },
        }),
      ),
    ];
  }

  readonly init: ColumnInit = ({ column, values }) => {
    if (this.suffixes.some((suffix) => column.name.endsWith(`.${suffix}`))) values.fill(this.initialState);
  };

  step(buffer: PartitionBuffer, localIds: Int32Array, gradient: Float32Array, column?: string): void {
    this.#start(kernels(), buffer, localIds, gradient, column);
  }

  async stepAsync(
    buffer: PartitionBuffer,
    localIds: Int32Array,
    gradient: Float32Array,
    column?: string,
  ): Promise<void> {
    await this.#start(asyncKernels, buffer, localIds, gradient, column);
  }

  /** Counts the step, computes it and marks changed rows. Half-precision rows are always computed synchronously. */
  #start(
    run: StepKernels,
    buffer: PartitionBuffer,
    localIds: Int32Array,
    gradient: Float32Array,
    column: string | undefined,
  ): void | Promise<void> {
    const name = column ?? buffer.columns[0].name;
    const first = buffer.columnIndex(name);
    const { width } = buffer.columns[first];
    const n = localIds.length;
    buffer.rows.check('step', localIds);
    if (gradient.length !== n * width) {
      const want = `${n} rows of ${width} elements`;
      throw new ValueError(expected(`RowOptimizer ${this.type}`, want, 'gradient', gradient));
    }
    const used = [first, ...this.suffixes.map((suffix) => buffer.columnIndex(`${name}.${suffix}`))];
    return this.#countStep(
      () => this.#compute(run, buffer, localIds, gradient, used),
      () => buffer.markDirty(localIds),
    );
  }

  /** Counts a step; if it throws, nothing has changed. */
  #countStep(step: () => void | Promise<void>, started: () => void): void | Promise<void> {
    this.steps++;
    try {
      const result = step();
      started();
      return result;
    } catch (error) {
      this.steps--;
      throw error;
    }
  }

  #compute(
    run: StepKernels,
    buffer: PartitionBuffer,
    localIds: Int32Array,
    gradient: Float32Array,
    used: readonly number[],
  ): void | Promise<void> {
    const { width } = buffer.columns[used[0]];
    const n = localIds.length;
    if (used.every((i) => buffer.columns[i].dtype === 'f32')) {
      const [values, ...states] = used.map((i) => buffer.block(i) as Float32Array);
      return this.update(run, values, states, localIds, gradient, width);
    }
    const [values, ...states] = used.map((i) => buffer.rows.read(localIds, i));
    const inOrder = Int32Array.from({ length: n }, (_, i) => i);
    void this.update(kernels(), values, states, inOrder, gradient, width);
    [values, ...states].forEach((rows, i) => {
      buffer.rows.put(localIds, rows, used[i]);
    });
  }

  stepArrays(
    values: Float32Array,
    states: readonly Float32Array[],
    ids: Int32Array,
    gradient: Float32Array,
    width: number,
  ): void {
    void this.#countStep(
      () => this.update(kernels(), values, states, ids, gradient, width),
      () => {},
    );
  }

  state(): RowOptimizerState {
    return { type: this.type, steps: this.steps, learningRate: this.learningRate };
  }

  restore(state: RowOptimizerState): void {
    if (state.type !== this.type) {
      const advice = 'The checkpoint was made with another optimiser.';
      throw new ValueError(expected('RowOptimizer.restore', this.type, 'type', state.type, advice));
    }
    this.steps = checkInteger('RowOptimizer.restore', 'steps', state.steps);
    this.learningRate = state.learningRate;
  }

  /** Applies gradient row i to row ids[i] of values and states. */
  protected abstract update(
    run: StepKernels,
    values: Float32Array,
    states: readonly Float32Array[],
    ids: Int32Array,
    gradient: Float32Array,
    width: number,
  ): void | Promise<void>;
}
