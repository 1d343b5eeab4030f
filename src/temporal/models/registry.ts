/** All kinds of temporal models that a configuration can name: those that are built in, and those that were registered. */
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Settings } from '../../util/settings.js';
import { builtInKinds } from './kinds.js';
import type { TemporalModelKind } from './model-kind.js';

const registered = new Map<string, TemporalModelKind>();

/**
 * Makes a kind of model known to configurations; runs with `model: { kind: … }` can then be trained, resumed and opened in
 * this process.
 *
 * @returns takes it out again.
 * @example
 * registerTemporalModel({ kind: 'mine', doc: 'my model', settings: { dim_out: integer(1, 32, 'width') }, make });
 */
export function registerTemporalModel<S extends Settings>(kind: TemporalModelKind<S>): () => void {
  const where = 'registerTemporalModel';
  checkOptionNames(where, kind, {
    ...{ kind: true, doc: true, settings: true, learns: true, workers: true, labels: true },
    ...{ check: true, make: true },
  });
  const name = kind?.kind;
  if (typeof name !== 'string' || !/^[a-z][a-z0-9_]*$/.test(name))
    throw new ValueError(expected(where, 'a word of small letters, digits and _', 'kind', name));
  if (findTemporalModel(name) !== undefined)
    throw new ValueError(expected(where, 'a name that is not taken', 'kind', name, 'Choose another.'));
  if (typeof kind.make !== 'function') throw new ValueError(expected(where, 'a function', 'make', kind.make));
  if (typeof kind.settings !== 'object' || kind.settings === null || 'kind' in kind.settings)
    throw new ValueError(expected(where, 'settings by key, none called kind,', 'settings', kind.settings));
  const own = kind as unknown as TemporalModelKind;
  registered.set(name, own);
  return () => {
    if (registered.get(name) === own) registered.delete(name);
  };
}

/** Undefined when nothing of this name is known. */
export function findTemporalModel(kind: string): TemporalModelKind | undefined {
  return builtInKinds.find((known) => known.kind === kind) ?? registered.get(kind);
}

/** The built-in kinds first. */
export function temporalModelKinds(): TemporalModelKind[] {
  return [...builtInKinds, ...registered.values()];
}
