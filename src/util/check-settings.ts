/**
 * Checks settings that a user's own word brings along: plain JavaScript may give anything, and what is wrong would show
 * only when a configuration names the word.
 */
import { expected, ValueError } from './errors.js';
import { readValue } from './read-settings.js';
import type { Setting } from './settings.js';

const kinds = ['integer', 'number', 'flag', 'choice', 'list'];

/** Refuses what is not settings by key, in the name of `where`. */
export function checkSettings(where: string, settings: unknown): void {
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings))
    throw new ValueError(expected(where, 'settings by key', 'settings', settings));
  for (const [key, setting] of Object.entries(settings)) {
    if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(key) || key in Object.prototype)
      throw new ValueError(expected(where, 'letters, digits and _', 'a key of settings', key));
    checkSetting(where, `settings.${key}`, setting);
  }
}

function checkSetting(where: string, name: string, setting: unknown): void {
  const refuse: (what: string, of: string, got: unknown) => never = (what, of, got) => {
    const advice = 'Make it with integer, number, positive, share, flag, choice or integers of settings.';
    throw new ValueError(expected(where, what, of, got, advice));
  };
  if (typeof setting !== 'object' || setting === null) refuse('a setting', name, setting);
  const { kind, standard, doc, min, what, values, aliases, ...bounds } = setting as Record<string, unknown>;
  if (!kinds.includes(kind as string)) refuse(`one of ${kinds.join(', ')}`, `${name}.kind`, kind);
  if (typeof doc !== 'string') refuse('a sentence', `${name}.doc`, doc);
  for (const [bound, value] of Object.entries({ min, ...pick(bounds, ['max', 'above', 'below']) }))
    if (value !== undefined && (typeof value !== 'number' || Number.isNaN(value)))
      refuse('a number', `${name}.${bound}`, value);
  if (kind === 'choice') {
    if (!Array.isArray(values) || values.length === 0 || values.some((word) => typeof word !== 'string'))
      refuse('a list of words', `${name}.values`, values);
    const others = aliases === undefined ? [] : Object.values(Object(aliases) as object);
    const unknown = others.find((word) => !values.includes(word));
    if (unknown !== undefined) refuse(`one of ${values.join(', ')}`, `${name}.aliases`, unknown);
  }
  if (kind === 'list' && (typeof min !== 'number' || typeof what !== 'string'))
    refuse('min and what', name, setting);
  const read = standard === undefined ? null : readValue(setting as Setting, standard);
  if (read !== null && 'expected' in read) refuse(read.expected, `${name}.standard`, standard);
}

function pick(from: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, from[name]]));
}
