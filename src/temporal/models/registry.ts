/** The registry of temporal models: the built-in and custom kinds that a configuration can name. */
import { Module } from '../../nn/index.js';
import { checkOptionNames } from '../../util/option-names.js';
import { checkRecord, checkResult, Registry } from '../../util/registry.js';
import type { Settings, ValuesOf } from '../../util/settings.js';
import { builtInKinds } from './kinds.js';
import type { TemporalModelKind, TemporalPlace } from './model-kind.js';

const registry = new Registry<TemporalModelKind>({
  ...{ key: 'model.kind', builtIn: builtInKinds, spelling: 'small', property: 'kind' },
  reserved: 'kind',
});

/**
 * Registers a kind of model, so that configurations can name it as `model: { kind: … }`; such runs can then be trained,
 * resumed and opened in this process.
 *
 * @returns a function that removes it.
 * @example
 * registerTemporalModel({ kind: 'mine', doc: 'my model', settings: { dim_out: integer(1, 32, 'width') }, make });
 */
export function registerTemporalModel<S extends Settings>(kind: TemporalModelKind<S>): () => void {
  const where = 'registerTemporalModel';
  checkRecord(where, kind);
  checkOptionNames(where, kind, {
    ...{ kind: true, doc: true, settings: true, learns: true, workers: true, labels: true },
    ...{ train: true, check: true, make: true },
  });
  const optional = kind.check === undefined ? [] : (['check'] as const);
  return registry.register(where, checked(where, kind) as unknown as TemporalModelKind, [
    'make',
    ...optional,
  ]);
}

/** Wraps the functions of a kind, so that a wrong result throws. Values that are not functions are left to `register`. */
function checked<S extends Settings>(where: string, kind: TemporalModelKind<S>): TemporalModelKind<S> {
  const { kind: name } = kind;
  return {
    ...kind,
    ...(typeof kind.make === 'function' && {
      make: (place: TemporalPlace<ValuesOf<S>>) => {
        const made = kind.make(place);
        const fits = made?.model instanceof Module && typeof made.needs === 'object' && made.needs !== null;
        return checkResult(where, `make() of ${name}`, '{ model, state, needs }', fits, made);
      },
    }),
    ...(typeof kind.check === 'function' && {
      check: (place: TemporalPlace<ValuesOf<S>>) => {
        const made = kind.check?.(place) ?? null;
        return checkResult(
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
  return registry.find(kind);
}

/** The built-in kinds first. */
export function temporalModelKinds(): readonly TemporalModelKind[] {
  return registry.all();
}
