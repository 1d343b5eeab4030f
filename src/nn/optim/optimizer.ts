/**
 * `Optimizer`: parameter groups with options, state for each parameter, and the loop over both.
 *
 * Subclasses define the defaults, the check of their options and the update of one parameter from a dense gradient or
 * from sparse rows (`sparseGrad`, coalesced). Values change in place, so backward through a graph recorded before a
 * step throws. Gradients are not checked for NaN. Optimiser state is on the device of its parameter: it follows a
 * parameter that was moved to a device at the next step.
 */
import { type FloatArray, kernels } from '../../native/index.js';
import { onDevice } from '../../tensor/device.js';
import { type SparseRows, Tensor } from '../../tensor/index.js';
import { fetchInPlace, moveInPlace } from '../../tensor/move.js';
import { pack } from '../../tensor/ops/common.js';
import { unscoped } from '../../tensor/scope.js';
import { checkNumber, DeviceError, expected, StateError, ValueError } from '../../util/errors.js';
import { loadState, type OptimizerState, saveState } from './state.js';

/** The options of every optimiser; `lr` may be changed between steps. */
export interface BaseOptions {
  lr: number;
}

/** Parameters that share options. */
export type Group<O extends BaseOptions> = O & { readonly params: readonly Tensor[] };

/** A group as given: the defaults of its options are those of the optimiser. */
export type GroupInput<O extends BaseOptions> = Partial<O> & { readonly params: Iterable<Tensor> };

export type OptimizerInput<O extends BaseOptions> = Iterable<Tensor> | Iterable<GroupInput<O>>;

/** The optimiser state of one parameter: its number of steps, and tensors of its shape by name. */
export interface ParameterState {
  step: number;
  readonly tensors: Map<string, Tensor>;
}

export abstract class Optimizer<O extends BaseOptions> {
  readonly groups: Group<O>[] = [];
  readonly #states = new Map<Tensor, ParameterState>();
  readonly #defaults: O;

  constructor(input: OptimizerInput<O>, defaults: O, options: Partial<O>) {
    this.#defaults = { ...defaults, ...options };
    checkKeys(this.name, 'the options', options, defaults);
    if (typeof (input as { [Symbol.iterator]?: unknown } | null)?.[Symbol.iterator] !== 'function') {
      throw new ValueError(
        expected(
          this.name,
          'a list of parameters or groups',
          'the parameters',
          input,
          'Pass module.parameters().',
        ),
      );
    }
    const items: readonly (Tensor | GroupInput<O>)[] = [...input];
    if (items.length === 0) {
      throw new ValueError(
        expected(this.name, 'at least one parameter', 'the parameters', 'none', 'Pass module.parameters().'),
      );
    }
    if (items[0] instanceof Tensor) this.addGroup({ params: items as Tensor[] } as unknown as GroupInput<O>);
    else for (const group of items as GroupInput<O>[]) this.addGroup(group);
  }

  /** The name of the class, for messages and files. */
  get name(): string {
    return this.constructor.name;
  }

  /** Throws if an option is wrong. */
  protected abstract check(options: O): void;
  protected abstract updateDense(p: Tensor, g: FloatArray, state: ParameterState, options: O): void;
  protected abstract updateRows(p: Tensor, g: SparseRows, state: ParameterState, options: O): void;

  addGroup(input: GroupInput<O>): void {
    if (typeof input !== 'object' || input === null || !('params' in input)) {
      throw new ValueError(
        expected(this.name, 'a parameter or a group { params, … }', 'the parameters', input),
      );
    }
    const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
    checkKeys(this.name, 'a group', given, { params: [], ...this.#defaults });
    const params = [...input.params];
    const taken = new Set(this.groups.flatMap((group) => group.params));
    for (const [i, p] of params.entries()) {
      checkParameter(this.name, i, p, taken.has(p));
      taken.add(p);
    }
    const group = { ...this.#defaults, ...given, params } as Group<O>;
    this.check(group);
    this.groups.push(group);
  }

  /** The learning rate of the first group; setting it sets that of all. */
  get lr(): number {
    return this.groups[0].lr;
  }

  set lr(value: number) {
    checkNumber(this.name, 'lr', value, 0);
    for (const group of this.groups) group.lr = value;
  }

  /** Updates every parameter that has a gradient. */
  step(): void {
    for (const group of this.groups) {
      checkNumber(`${this.name}.step`, 'lr', group.lr, 0);
      for (const p of group.params) this.#update(p, group);
    }
  }

  #update(p: Tensor, group: Group<O>): void {
    const dense = p.ownGrad;
    if (dense === null && p.sparseGrad === null) return;
    let state = this.#states.get(p);
    if (state === undefined) {
      state = { step: 0, tensors: new Map() };
      this.#states.set(p, state);
    }
    state.step++;
    const own = state;
    onDevice(p.device, () => {
      if (dense !== null) {
        const values = p.device === null ? (dense.dataSync() as FloatArray) : pack(dense);
        this.updateDense(p, values, own, group);
        return;
      }
      const rows = (p.sparseGrad as SparseRows).coalesce();
      this.updateRows(p, rows, own, group);
      rows.dispose();
    });
    p.storage.version++;
  }

  /** Returns the state tensor `name` of a parameter, made at its first use. */
  protected stateOf(p: Tensor, state: ParameterState, name: string, initial = 0): FloatArray {
    let t = state.tensors.get(name);
    if (t === undefined) {
      t = unscoped(() => Tensor.allocate(p.dtype, p.shape, p.device));
      kernels().fill(t.floats, t.size, initial);
      state.tensors.set(name, t);
    }
    if (t.device !== p.device) this.#follow(t, p);
    return t.floats;
  }

  #follow(t: Tensor, p: Tensor): void {
    if (p.device !== null && t.device === null) moveInPlace(t, p.device);
    else
      throw new DeviceError(
        `${this.name}.step: expected its state on the device of the parameter (${p.device?.name ?? 'cpu'}), got it on ${t.device?.name}. Fetch it with \`await optimizer.cpu()\`.`,
        { reason: 'wait' },
      );
  }

  /** Moves the state to the CPU, after `await module.cpu()`. */
  async cpu(): Promise<this> {
    for (const { tensors } of this.#states.values()) for (const t of tensors.values()) await fetchInPlace(t);
    return this;
  }

  /** Removes the gradients of all parameters. */
  zeroGrad(): void {
    for (const group of this.groups) for (const p of group.params) p.zeroGrad();
  }

  /** Returns options, step counts and copies of state tensors; parameters are numbered in the order of the groups. */
  stateDict(): OptimizerState {
    return saveState(this.name, this.groups, this.#states);
  }

  /** Continues from a state of an optimiser with the same groups and shapes. */
  loadStateDict(state: OptimizerState): void {
    loadState(this.name, this.groups, this.#states, state, (options) => this.check(options as unknown as O));
  }
}

function checkKeys(where: string, name: string, given: object, known: object): void {
  for (const key of Object.keys(given)) {
    if (!Object.hasOwn(known, key))
      throw new ValueError(expected(where, `only ${Object.keys(known).join(', ')}`, name, key));
  }
}

function checkParameter(where: string, i: number, p: unknown, taken: boolean): void {
  if (!(p instanceof Tensor)) throw new ValueError(expected(where, 'a tensor', `parameter ${i}`, p));
  if (!p.isLeaf || !p.requiresGrad) {
    throw new StateError(
      expected(
        where,
        'a leaf with requiresGrad',
        `parameter ${i}`,
        p.isLeaf ? 'one without requiresGrad' : 'the result of an operation',
      ),
    );
  }
  if (!p.isContiguous)
    throw new StateError(expected(where, 'a contiguous tensor', `parameter ${i}`, 'a strided view'));
  if (taken)
    throw new ValueError(
      expected(where, 'each parameter once', `parameter ${i}`, 'one that was given before'),
    );
}
