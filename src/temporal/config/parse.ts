/**
 * From a parsed model file to a checked `TemporalConfig`. A key is used, or known to have no effect (a warning), or
 * refused with the nearest known key; everything that is wrong is reported at once.
 */
import { ConfigError, describe } from '../../util/errors.js';
import { nearest } from '../../util/nearest.js';
import { checkTogether } from './combinations.js';
import { idleKeys } from './idle.js';
import { type Rule, rules, type SectionName, sectionNames, withoutEffect } from './keys.js';
import type { TemporalConfig } from './types.js';

export interface ParsedTemporalConfig {
  readonly config: TemporalConfig;
  /** What the file says without effect, one sentence each. */
  readonly warnings: readonly string[];
}

export interface ConfigProblem {
  readonly key: string;
  readonly message: string;
}

type Fields = Record<string, unknown>;

/**
 * @param document the file as plain objects; each section a map, or a list of one map as TGL writes it.
 * @param where what to call the file in errors.
 */
export function parseTemporalConfig(document: unknown, where = 'temporal config'): ParsedTemporalConfig {
  const problems: ConfigProblem[] = [];
  const warnings: string[] = [];
  const top = isMap(document) ? document : {};
  if (!isMap(document))
    problems.push({
      key: '(file)',
      message: `expected a map of ${sectionNames.join(', ')}, got ${describe(document)}`,
    });
  for (const key of Object.keys(top)) {
    if (!sectionNames.includes(key as SectionName))
      problems.push(unknown(key, key, sectionNames as readonly string[]));
  }
  const sections = Object.fromEntries(
    sectionNames.map((name) => [name, readSection(name, top[name], problems, warnings)]),
  );
  if (problems.length > 0) throw configError(where, problems);
  const read = sections as unknown as TemporalConfig;
  const config = checkTogether(read, problems);
  if (problems.length > 0) throw configError(where, problems);
  return { config, warnings: [...warnings, ...idleKeys(read)] };
}

function readSection(
  name: SectionName,
  given: unknown,
  problems: ConfigProblem[],
  warnings: string[],
): Fields {
  const map = sectionMap(name, given, problems);
  // TGL's word for a model that looks at no neighbours.
  if (name === 'sampling' && Object.hasOwn(map, 'no_sample')) {
    if (map.no_sample === true) map.strategy ??= 'identity';
    else if (map.no_sample !== false)
      problems.push({
        key: 'sampling.no_sample',
        message: `expected true or false, got ${describe(map.no_sample)}`,
      });
    delete map.no_sample;
  }
  const known = rules[name] as Readonly<Record<string, Rule<unknown>>>;
  const silent = withoutEffect[name];
  for (const key of Object.keys(map)) {
    if (Object.hasOwn(known, key)) continue;
    if (Object.hasOwn(silent, key)) warnings.push(`${name}.${key} has no effect: ${silent[key]}.`);
    else problems.push(unknown(`${name}.${key}`, key, Object.keys(known)));
  }
  return Object.fromEntries(
    Object.entries(known).map(([key, rule]) => [key, readKey(`${name}.${key}`, map[key], rule, problems)]),
  );
}

/** An absent section is an empty one: required keys inside it are missed by name. */
function sectionMap(name: SectionName, given: unknown, problems: ConfigProblem[]): Fields {
  const value = Array.isArray(given) && given.length === 1 ? given[0] : given;
  if (isMap(value)) return { ...value };
  if (value !== undefined && value !== null)
    problems.push({ key: name, message: `expected a map (or a list of one map), got ${describe(given)}` });
  return {};
}

function readKey(path: string, given: unknown, rule: Rule<unknown>, problems: ConfigProblem[]): unknown {
  if (given === undefined || given === null) {
    if (rule.fallback === undefined) problems.push({ key: path, message: 'this key is missing' });
    return rule.fallback;
  }
  const result = rule.read(given);
  if ('value' in result) return result.value;
  problems.push({ key: path, message: `expected ${result.wanted}` });
  return undefined;
}

function unknown(path: string, key: string, known: readonly string[]): ConfigProblem {
  const close = nearest(key, known);
  const advice = close === undefined ? `known: ${known.join(', ')}` : `did you mean ${close}?`;
  return { key: path, message: `unknown key; ${advice}` };
}

function configError(where: string, problems: readonly ConfigProblem[]): ConfigError {
  const lines = problems.map(({ key, message }) => `  ${key}: ${message}`);
  return new ConfigError(`${where}: cannot be used.\n${lines.join('\n')}`, { problems });
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
