/** Types and features of events by names, in the form of the stream that a model was trained with. */
import type { OpenedEventRun } from '../train/index.js';
import { expected, ValueError } from '../util/errors.js';

/** The fields of an event that the form of a stream decides about. */
export interface EventValues {
  readonly type?: string | null | undefined;
  readonly features?: readonly number[] | null | undefined;
}

export class EventColumnMaker {
  /** Features that callers give. */
  readonly #width: number;
  /** Their names in the event file, for messages; empty if it has none. */
  readonly #featureNames: readonly string[];
  /** Null: events have no types. */
  readonly #typeNames: readonly string[] | null;
  readonly #typesAreFeatures: boolean;

  constructor({ stream, config }: OpenedEventRun) {
    const { featureWidth, featureNames = [] } = stream.data;
    this.#width = featureWidth;
    // Events of a program have features without names: writeEvents of fit-events.ts numbers them.
    this.#featureNames = featureNames.every((name) => /^(f?\d+)?$/.test(name)) ? [] : featureNames;
    this.#typeNames = stream.data.events.types === undefined ? null : (stream.data.typeNames ?? []);
    this.#typesAreFeatures = config.dataset.types_as_features;
  }

  /** Whether events have types. */
  get takesTypes(): boolean {
    return this.#typeNames !== null;
  }

  /** Throws for an event that does not have the form of the stream; `path` names it. */
  check(path: string, event: EventValues): void {
    if (!this.takesTypes && event.type != null)
      throw new ValueError(
        expected(
          'append',
          'no type',
          `${path}.type`,
          event.type,
          'The events that the model was trained with have none.',
        ),
      );
    this.#type(path, event);
    const features = event.features ?? [];
    const advice = 'Events have the features of those that the model was trained with.';
    if (features.length !== this.#width)
      throw new ValueError(expected('append', this.#wantedFeatures(), `${path}.features`, features, advice));
    const bad = features.findIndex((value) => !Number.isFinite(Math.fround(value)));
    if (bad >= 0)
      throw new ValueError(
        expected('append', 'a number that 32 bits can hold', `${path}.features[${bad}]`, features[bad]),
      );
  }

  /** Returns types and features of checked events. A model that does not use types takes any. */
  columns(events: readonly EventValues[]): { readonly types?: Int32Array; readonly features?: Float32Array } {
    const types = this.#typeNames === null ? null : Int32Array.from(events, (event) => this.#type('', event));
    const kinds = this.#typesAreFeatures ? (this.#typeNames?.length ?? 0) : 0;
    const width = kinds + this.#width;
    const features = width === 0 ? null : new Float32Array(events.length * width);
    for (const [i, event] of events.entries()) {
      if (features === null) break;
      if (kinds > 0 && types !== null) features[i * width + types[i]] = 1;
      features.set(event.features ?? [], i * width + kinds);
    }
    return { ...(types === null ? {} : { types }), ...(features === null ? {} : { features }) };
  }

  #wantedFeatures(): string {
    if (this.#width === 0) return 'no features';
    const names = this.#featureNames.slice(0, 8).join(', ');
    const more = this.#featureNames.length > 8 ? ', …' : '';
    const numbers = this.#width === 1 ? '1 number' : `${this.#width} numbers`;
    return names === '' ? numbers : `${numbers} (${names}${more})`;
  }

  #type(path: string, { type }: EventValues): number {
    const names = this.#typeNames;
    if (names === null) return 0;
    if (type == null && !this.#typesAreFeatures) return 0;
    const id = names.indexOf(type ?? '');
    if (id >= 0) return id;
    throw new ValueError(expected('append', `one of ${names.join(', ')}`, `${path}.type`, type));
  }
}
