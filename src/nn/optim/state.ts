/**
 * Saves and loads the state of an optimiser: numbers that can be stored as JSON, and tensors by name. A state is
 * checked as a whole before it is applied.
 */

import { Tensor } from '../../tensor/index.js';
import { unscoped } from '../../tensor/scope.js';
import { formatShape, sameShape } from '../../tensor/shape.js';
import { checkInteger, expected, ShapeError, StateError } from '../../util/errors.js';
import { copyValues } from '../state-dict.js';
import type { ParameterState } from './optimizer.js';

export interface OptimizerState {
  /** The class of the optimiser. */
  readonly kind: string;
  /** The options and the number of parameters of each group. */
  readonly groups: readonly { readonly count: number; readonly options: Readonly<Record<string, unknown>> }[];
  /** The number of steps of each parameter, in the order of the groups. */
  readonly steps: readonly number[];
  /** `<parameter number>.<name>` */
  readonly tensors: Readonly<Record<string, Tensor>>;
}

interface AnyGroup {
  readonly params: readonly Tensor[];
}

export function saveState(
  kind: string,
  groups: readonly AnyGroup[],
  states: ReadonlyMap<Tensor, ParameterState>,
): OptimizerState {
  const tensors: [string, Tensor][] = [];
  const steps = groups
    .flatMap((group) => group.params)
    .map((p, i) => {
      const state = states.get(p);
      for (const [name, t] of state?.tensors ?? []) tensors.push([`${i}.${name}`, copyOf(t)]);
      return state?.step ?? 0;
    });
  const described = groups.map(({ params, ...options }) => ({ count: params.length, options }));
  return { kind, groups: described, steps, tensors: Object.fromEntries(tensors) };
}

export function loadState(
  kind: string,
  groups: readonly AnyGroup[],
  states: Map<Tensor, ParameterState>,
  saved: OptimizerState,
  check: (options: object) => void,
): void {
  const where = `${kind}.loadStateDict`;
  if (saved.kind !== kind)
    throw new StateError(expected(where, `the state of ${kind}`, 'state', `one of ${saved.kind}`));
  const counts = groups.map((group) => group.params.length);
  const savedCounts = saved.groups.map((group) => group.count);
  if (!sameShape(counts, savedCounts)) {
    throw new StateError(
      expected(
        where,
        `groups of ${counts.join(', ')} parameters`,
        'state',
        `groups of ${savedCounts.join(', ')}`,
      ),
    );
  }
  const options = groups.map((group, i) => knownOptions(group, saved.groups[i].options));
  for (const [i, group] of groups.entries()) check({ ...group, ...options[i] });
  const params = groups.flatMap((group) => group.params);
  const loaded = new Map(
    params.map((p, i) => {
      const step = checkInteger(where, `steps[${i}]`, saved.steps[i]);
      return [p, { step, tensors: new Map<string, Tensor>() }];
    }),
  );
  for (const [key, source] of Object.entries(saved.tensors)) {
    const [, index, name] = /^(\d+)\.(.+)$/.exec(key) ?? [];
    const p = params[Number(index)];
    if (p === undefined)
      throw new StateError(expected(where, `names from 0.… to ${params.length - 1}.…`, 'state', key));
    if (!(source instanceof Tensor) || !sameShape(source.shape, p.shape)) {
      const got = source instanceof Tensor ? formatShape(source.shape) : source;
      throw new ShapeError(
        expected(
          where,
          `shape ${formatShape(p.shape)}`,
          key,
          got,
          'Use the model that the state was saved with.',
        ),
      );
    }
    loaded.get(p)?.tensors.set(name, copyOf(source, p));
  }
  states.clear();
  for (const [p, state] of loaded) if (state.step > 0) states.set(p, state);
  for (const [i, group] of groups.entries()) Object.assign(group, options[i]);
}

/** Returns the saved options that the optimiser has. */
function knownOptions(group: AnyGroup, saved: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const names = Object.keys(group).filter((key) => key !== 'params' && Object.hasOwn(saved, key));
  return Object.fromEntries(names.map((key) => [key, saved[key]]));
}

/** Copies a tensor outside any scope, to the dtype and device of `like`. */
function copyOf(source: Tensor, like: Tensor = source): Tensor {
  const copy = unscoped(() => Tensor.allocate(like.dtype, source.shape, like.device));
  copyValues(source, copy);
  return copy;
}
