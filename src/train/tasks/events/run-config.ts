/**
 * The configuration of a temporal run: a model file of TGL or StarryGL (sampling, memory, gnn, train) with additional
 * sections for the dataset and the run. One error reports all problems, with their lines in the file.
 */
import { stringify } from 'yaml';

import { hasSecrets } from '../../../data/formats/databases/database-url.js';
import { ConfigError } from '../../../util/errors.js';
import { nearest } from '../../../util/nearest.js';
import { problemsOf } from '../../../util/schema/issues.js';
import { isTree, type Tree } from '../../../util/schema/key-path.js';
import type { ConfigProblem } from '../../../util/schema/problem.js';
import {
  type ConfigFile,
  configError,
  noOrigin,
  type Origin,
  readConfigFile,
  withOverrides,
} from '../../config/config-file.js';
import { applyOverrides, checkOverrides, parseOverride } from '../../config/overrides.js';
import { type PluginRecord, readPluginRecords } from '../../config/plugin-record.js';
import { evaluationProblems, evaluationWarnings } from './evaluation.js';
import { type ModelChoice, readModel, renderModel } from './model-section.js';
import { withProtocol } from './protocol.js';
import type { TemporalRunSections } from './schema.js';
import { temporalRunSchema } from './schema.js';

/** Sections of TGL's model files. */
const modelSections = ['sampling', 'memory', 'gnn', 'train'] as const;
/** Sections for the kind of model and the plugin that registered it. */
const kindSections = ['model', 'plugins'] as const;
const ownSections = [
  'protocol',
  'dataset',
  'training',
  'evaluation',
  'labels',
  'storage',
  'distributed',
] as const;

export interface TemporalRunConfig extends TemporalRunSections {
  readonly model: ModelChoice;
  /** The model's sections as they were given; `model` has the defaults filled in. */
  readonly modelFile: Tree;
  /** The plugin that registered the kind of model. Training writes it; it is never imported because of this record. */
  readonly plugins: readonly PluginRecord[];
}

/** Returns whether a file is a temporal configuration: it has a section that only TGL has, or a kind of temporal model. */
export function isTemporalConfig(path: string | ConfigFile): boolean {
  const { values } = typeof path === 'string' ? readConfigFile(path) : path;
  if (!isTree(values)) return false;
  const { model } = values;
  return (
    ['sampling', 'memory', 'gnn'].some((name) => name in values) ||
    typeof model === 'string' ||
    (isTree(model) && 'kind' in model)
  );
}

/** Loads the configuration of a file, given as its path or already read. */
export function loadTemporalConfig(
  path: string | ConfigFile,
  overrides: readonly string[] = [],
): { readonly config: TemporalRunConfig; readonly warnings: readonly string[] } {
  const file = typeof path === 'string' ? readConfigFile(path) : path;
  checkOverrides(overrides);
  return resolveTemporalConfig(file.values, overrides, withOverrides(file, overrides));
}

export function resolveTemporalConfig(
  values: unknown,
  overrides: readonly string[] = [],
  origin: Origin = noOrigin,
): { readonly config: TemporalRunConfig; readonly warnings: readonly string[] } {
  checkOverrides(overrides);
  if (!isTree(values))
    throw new ConfigError(
      `config: expected the sections sampling, memory, gnn and train for the configuration, got ${Array.isArray(values) ? 'a list' : typeof values}.`,
    );
  const tree = withProtocol(applyOverrides(unwrapSections(values), overrides.map(parseOverride)));
  const select = (names: readonly string[], inside: boolean): Tree =>
    Object.fromEntries(Object.entries(tree).filter(([name]) => names.includes(name) === inside));
  const file = select(modelSections, true);
  const sections = parseRunSections(select([...modelSections, ...kindSections], false));
  const plugins = readPluginRecords(tree['plugins']);
  const read = readModel(tree['model'], file, plugins.data.length > 0);
  const problems = [...sections.problems, ...plugins.problems, ...read.problems];
  if (problems.length > 0 || sections.data === null || read.model === null)
    throw configError(problems, { ...origin, lineOf: (key) => origin.lineOf(keyInFile(values, key)) });
  const { model } = read;
  const warnings = [...read.warnings, ...evaluationWarnings(sections.data)];
  const modelFile = model.sections === null ? renderModel(model) : file;
  return { config: { ...sections.data, model, modelFile, plugins: plugins.data }, warnings };
}

interface Checked<T> {
  readonly data: T | null;
  readonly problems: readonly ConfigProblem[];
}

function parseRunSections(own: Tree): Checked<TemporalRunSections> {
  const known: readonly string[] = [...ownSections, ...modelSections, ...kindSections];
  const unknown = Object.keys(own).filter((name) => !known.includes(name));
  const problems = unknown.map((name) => {
    const close = nearest(name, known);
    const fix = close === undefined ? `Known sections: ${known.join(', ')}.` : `Did you mean ${close}?`;
    return { key: name, message: `expected a known section, got ${name}. ${fix}` };
  });
  const rest = Object.fromEntries(Object.entries(own).filter(([name]) => known.includes(name)));
  const parsed = temporalRunSchema.safeParse(rest);
  if (!parsed.success) return { data: null, problems: [...problems, ...problemsOf(parsed.error, rest)] };
  const { name, path, query, database, train_share, validation_share } = parsed.data.dataset;
  if (train_share + validation_share > 1)
    problems.push({
      key: 'dataset.validation_share',
      message: `expected at most ${Number((1 - train_share).toFixed(6))} for dataset.validation_share with train_share ${train_share}, got ${validation_share}. Lower one of them.`,
    });
  const given = [name, path, query].filter((one) => one !== '').length;
  if (given !== 1)
    problems.push({
      key: 'dataset',
      message: `expected a name, a path or a query for dataset, got ${given === 0 ? 'none' : 'several'}. Write dataset: wikipedia, or dataset: { path: events.csv }.`,
    });
  if (database !== '' && query === '')
    problems.push({ key: 'dataset.query', message: 'expected a query with dataset.database, got none.' });
  // The configuration is stored in the run.
  if (hasSecrets(database))
    problems.push({
      key: 'dataset.database',
      message:
        'expected an address without a password and options for dataset.database. Set the password in PGPASSWORD or MYSQL_PWD.',
    });
  problems.push(...evaluationProblems(parsed.data));
  return { data: parsed.data, problems };
}

/** Returns the path of a key in the file. TGL's files wrap each section in a list. */
function keyInFile(values: Tree, key: string): string {
  const [section, ...rest] = key.split('.');
  return Array.isArray(values[section]) && rest.length > 0 ? [section, 0, ...rest].join('.') : key;
}

/**
 * Returns the sections as mappings, so that overrides can be applied: TGL writes each as a list of one mapping, and a
 * dataset or a model may be given by name alone.
 */
function unwrapSections(values: Tree): Tree {
  const sections: Tree = Object.fromEntries(
    Object.entries(values).map(([name, section]) => [
      name,
      Array.isArray(section) && section.length === 1 && name !== 'plugins' ? section[0] : section,
    ]),
  );
  const { dataset, model } = sections;
  return {
    ...sections,
    ...(typeof dataset === 'string' ? { dataset: { name: dataset } } : {}),
    ...(typeof model === 'string' ? { model: { kind: model } } : {}),
  };
}

/** Renders the resolved configuration as YAML. Reading it back gives the same configuration. */
export function renderTemporalConfig(config: TemporalRunConfig): string {
  const sections = Object.fromEntries(ownSections.map((name) => [name, config[name]]));
  const plugins = config.plugins.length === 0 ? {} : { plugins: config.plugins };
  return stringify(
    { ...sections, ...config.modelFile, ...plugins },
    { lineWidth: 0, aliasDuplicateObjects: false },
  );
}
