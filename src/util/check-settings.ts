/**
 * Checks the settings of a custom type when it is registered. A plugin in plain JavaScript has no compiler to find
 * mistakes, which would otherwise show only when a configuration names the type.
 */
import { expected, ValueError } from './errors.js';
import { readValue } from './read-settings.js';
import type { Setting } from './settings.js';

const kinds = ['integer', 'number', 'flag', 'choice', 'list'];

/** Throws, in the name of `where`, if `settings` is not an object of settings by key. */
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
  const fail: (what: string, of: string, got: unknown) => never = (what, of, got) => {
    const advice = 'Make it with integer, number, positive, fraction, flag, choice or integers of settings.';
    throw new ValueError(expected(where, what, of, got, advice));
  };
  if (typeof setting !== 'object' || setting === null) fail('a setting', name, setting);
  const { kind, standard, doc, min, what, values, aliases, ...bounds } = setting as Record<string, unknown>;
  if (!kinds.includes(kind as string)) fail(`one of ${kinds.join(', ')}`, `${name}.kind`, kind);
  if (typeof doc !== 'string') fail('a sentence', `${name}.doc`, doc);
  for (const [bound, value] of Object.entries({ min, ...pick(bounds, ['max', 'above', 'below']) }))
    if (value !== undefined && (typeof value !== 'number' || Number.isNaN(value)))
      fail('a number', `${name}.${bound}`, value);
  if (kind === 'choice') {
    if (!Array.isArray(values) || values.length === 0 || values.some((value) => typeof value !== 'string'))
      fail('a list of strings', `${name}.values`, values);
    const others = aliases === undefined ? [] : Object.values(Object(aliases) as object);
    const unknown = others.find((value) => !values.includes(value));
    if (unknown !== undefined) fail(`one of ${values.join(', ')}`, `${name}.aliases`, unknown);
  }
  if (kind === 'list' && (typeof min !== 'number' || typeof what !== 'string'))
    fail('min and what', name, setting);
  const read = standard === undefined ? null : readValue(setting as Setting, standard);
  if (read !== null && 'expected' in read) fail(read.expected, `${name}.standard`, standard);
}

function pick(from: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, from[name]]));
}
