/** All kinds of temporal models that a configuration can name: those that are built in, and those that were registered. */
import { checkOptionNames } from '../../util/option-names.js';
import type { Settings } from '../../util/settings.js';
import { WordFamily } from '../../util/words.js';
import { builtInKinds } from './kinds.js';
import type { TemporalModelKind } from './model-kind.js';

const family = new WordFamily<TemporalModelKind>({
  ...{ key: 'model.kind', builtIn: builtInKinds, spelling: 'small', property: 'kind' },
  reserved: 'kind',
});

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
  return family.register(where, kind as unknown as TemporalModelKind, ['make']);
}

/** Undefined when nothing of this name is known. */
export function findTemporalModel(kind: string): TemporalModelKind | undefined {
  return family.find(kind);
}

/** The built-in kinds first. */
export function temporalModelKinds(): readonly TemporalModelKind[] {
  return family.all();
}
