/** Checked options of an explanation. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { checkChoice } from '../check-questions.js';
import type { ExplainOptions } from './explanation.js';
import { Pace } from './pace.js';

/** Options with their defaults. */
export interface ExplainSettings {
  readonly k: number;
  readonly method: 'mask' | 'gradient';
  readonly steps: number;
  readonly class: string | undefined;
  readonly length: number;
  readonly events: number;
  readonly maxEdges: number;
  readonly randomize: boolean;
  readonly seed: number;
  readonly pace: Pace;
}

const where = 'explain';

/** The options that apply to one kind of question alone. */
const onlyFor: Readonly<Record<string, readonly string[]>> = {
  class: ['nodes'],
  length: ['links'],
  events: ['events'],
  method: ['nodes', 'links'],
  steps: ['nodes', 'links'],
  maxEdges: ['nodes', 'links'],
};

/** @param kind that of the model; an option for others is an error, as it would have no effect. */
export function explainSettings(kind: string, options: ExplainOptions): ExplainSettings {
  checkOptionNames(where, options, {
    ...({ k: true, method: true, steps: true, class: true, length: true, events: true } as const),
    ...({ maxEdges: true, randomize: true, seed: true, turn: true } as const),
  });
  for (const [name, kinds] of Object.entries(onlyFor))
    if (options[name as keyof ExplainOptions] !== undefined && !kinds.includes(kind))
      throw new ValueError(
        expected(
          where,
          'no option',
          name,
          options[name as keyof ExplainOptions],
          `It is one of models of ${kinds.join(' and ')}; leave it out.`,
        ),
      );
  const { k = 10, method = 'mask', steps = 100, length = 2, events = 40, maxEdges = 100_000 } = options;
  const { randomize = false, seed = 1, turn = nextTurn } = options;
  checkChoice(where, 'method', method, ['mask', 'gradient']);
  if (typeof randomize !== 'boolean')
    throw new ValueError(expected(where, 'true or false', 'randomize', randomize));
  if (typeof turn !== 'function') throw new ValueError(expected(where, 'a function', 'turn', turn));
  if (options.class !== undefined && typeof options.class !== 'string')
    throw new ValueError(expected(where, 'the name of a class', 'class', options.class));
  return {
    k: checkInteger(where, 'k', k, 1),
    method,
    steps: checkInteger(where, 'steps', steps, 1, 10_000),
    class: options.class,
    length: checkInteger(where, 'length', length, 1, 4),
    events: checkInteger(where, 'events', events, 1, 10_000),
    maxEdges: checkInteger(where, 'maxEdges', maxEdges, 1),
    randomize,
    seed: checkInteger(where, 'seed', seed, 0, 2 ** 32 - 1),
    pace: new Pace(() => turn()),
  };
}
