/** All kinds of temporal models that a configuration can name: those that are built in, and those that were registered. */
import { Module } from '../../nn/index.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Settings, ValuesOf } from '../../util/settings.js';
import { checkMade, checkRecord, WordFamily } from '../../util/words.js';
import { builtInKinds } from './kinds.js';
import type { TemporalModelKind, TemporalPlace } from './model-kind.js';

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
  checkRecord(where, kind);
  checkOptionNames(where, kind, {
    ...{ kind: true, doc: true, settings: true, learns: true, workers: true, labels: true },
    ...{ check: true, make: true },
  });
  const optional = kind.check === undefined ? [] : (['check'] as const);
  return family.register(where, checked(where, kind) as unknown as TemporalModelKind, ['make', ...optional]);
}

/** The kind with functions that refuse what does not fit, by its name. What is no function is left to `register`. */
function checked<S extends Settings>(where: string, kind: TemporalModelKind<S>): TemporalModelKind<S> {
  const { kind: name } = kind;
  return {
    ...kind,
    ...(typeof kind.make === 'function' && {
      make: (place: TemporalPlace<ValuesOf<S>>) => {
        const made = kind.make(place);
        const fits = made?.model instanceof Module && typeof made.needs === 'object' && made.needs !== null;
        return checkMade(where, `make() of ${name}`, '{ model, state, needs }', fits, made);
      },
    }),
    ...(typeof kind.check === 'function' && {
      check: (place: TemporalPlace<ValuesOf<S>>) => {
        const made = kind.check?.(place) ?? null;
        return checkMade(
          where,
          `check() of ${name}`,
          'null or a sentence',
          made === null || typeof made === 'string',
          made,
        );
      },
    }),
  };
}

/** Undefined when nothing of this name is known. */
export function findTemporalModel(kind: string): TemporalModelKind | undefined {
  return family.find(kind);
}

/** The built-in kinds first. */
export function temporalModelKinds(): readonly TemporalModelKind[] {
  return family.all();
}
