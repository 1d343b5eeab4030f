/**
 * Checks a parsed model file and returns a `TemporalConfig`. A key is used, or is known to have no effect (a warning), or throws with
 * the nearest known key; all problems are reported in one error.
 */
import { ConfigError, describe } from '../../util/errors.js';
import { readSections } from '../../util/read-settings.js';
import { dropIgnored } from '../../util/schema/ignored.js';
import { isTree, type Tree } from '../../util/schema/key-path.js';
import type { ConfigProblem } from '../../util/schema/problem.js';
import { checkCombinations } from './combinations.js';
import { idleKeys } from './idle.js';
import { modelSections, sectionNames, type TemporalConfig, withoutEffect } from './keys.js';

export interface ParsedTemporalConfig {
  readonly config: TemporalConfig;
  /** Keys without effect, one sentence each. */
  readonly warnings: readonly string[];
}

/** The configuration, or all problems of the file. */
export type ReadTemporalConfig =
  | (ParsedTemporalConfig & { readonly problems: readonly [] })
  | {
      readonly config: null;
      readonly warnings: readonly string[];
      readonly problems: readonly ConfigProblem[];
    };

/**
 * @param document the file as plain objects; each section a map, or a list of one map as TGL writes it.
 * @param where the name of the file in errors.
 */
export function parseTemporalConfig(document: unknown, where = 'temporal config'): ParsedTemporalConfig {
  const { config, warnings, problems } = readTemporalConfig(document);
  if (config !== null) return { config, warnings };
  const lines = problems.map(({ message }) => `  ${message}`);
  throw new ConfigError(`${where}: cannot be used.\n${lines.join('\n')}`, { problems });
}

/** Checks a model file and returns its problems, for callers that add others. */
export function readTemporalConfig(document: unknown): ReadTemporalConfig {
  const warnings: string[] = [];
  const failed = (problems: readonly ConfigProblem[]): ReadTemporalConfig => ({
    config: null,
    ...{ warnings, problems },
  });
  if (!isTree(document)) {
    const message = `expected a map of ${sectionNames.join(', ')}, got ${describe(document)}`;
    return failed([{ key: '(file)', message }]);
  }
  const tree = sectionsOf(document);
  dropIgnored(tree, withoutEffect, (message) => warnings.push(message));
  const read = readSections(modelSections, tree);
  if (read.values === null) return failed(read.problems);
  const problems: ConfigProblem[] = [];
  const config = checkCombinations(read.values, problems);
  if (problems.length > 0) return failed(problems);
  return { config, warnings: [...warnings, ...idleKeys(read.values)], problems: [] };
}

/** Returns the sections as maps, without keys that are null, with TGL's `no_sample` translated. */
function sectionsOf(document: Tree): Tree {
  const sections = Object.fromEntries(
    Object.entries(document).map(([name, given]) => {
      const value = Array.isArray(given) && given.length === 1 ? given[0] : given;
      if (!isTree(value)) return [name, value];
      return [name, Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null))];
    }),
  );
  const { sampling } = sections;
  if (isTree(sampling) && typeof sampling['no_sample'] === 'boolean') {
    const { no_sample: none, ...rest } = sampling;
    sections['sampling'] = none ? { ...rest, strategy: rest['strategy'] ?? 'identity' } : rest;
  }
  // An absent section is an empty one: required keys inside it are missed by name.
  return { ...Object.fromEntries(sectionNames.map((name) => [name, {}])), ...sections };
}
