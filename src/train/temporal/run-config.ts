/**
 * The configuration of a temporal run: a model file of TGL or StarryGL (sampling, memory, gnn, train) with our sections
 * beside it. What is wrong in any of them is reported at once, with the line in the file.
 */
import { stringify } from 'yaml';
import { parseTemporalConfig, type TemporalConfig } from '../../temporal/index.js';
import { ConfigError } from '../../util/errors.js';
import { problemsOf } from '../config/issues.js';
import { isTree, type Tree } from '../config/key-path.js';
import { applyOverrides, parseOverride } from '../config/overrides.js';
import { configError, type Origin, readYaml } from '../config/read-yaml.js';
import { type TemporalRunSections, temporalRunSchema } from './schema.js';

/** Sections of TGL's model files. */
const modelSections = ['sampling', 'memory', 'gnn', 'train'] as const;
const ownSections = ['dataset', 'training', 'evaluation', 'storage'] as const;

export interface TemporalRunConfig extends TemporalRunSections {
  readonly model: TemporalConfig;
  /** The model sections as given, with defaults filled in by `model`. */
  readonly modelFile: Tree;
}

/** Whether a file is a temporal configuration: it has one of TGL's own sections. */
export function isTemporalConfig(path: string): boolean {
  const { values } = readYaml(path);
  return isTree(values) && ['sampling', 'memory', 'gnn'].some((name) => name in values);
}

export function loadTemporalConfig(
  path: string,
  overrides: readonly string[] = [],
): { readonly config: TemporalRunConfig; readonly warnings: readonly string[] } {
  const { values, origin } = readYaml(path, overrides);
  return resolveTemporalConfig(values, overrides, origin);
}

export function resolveTemporalConfig(
  values: unknown,
  overrides: readonly string[] = [],
  origin: Origin = { path: undefined, lineOf: () => undefined },
): { readonly config: TemporalRunConfig; readonly warnings: readonly string[] } {
  if (!isTree(values))
    throw new ConfigError(
      `config: expected the sections sampling, memory, gnn and train for the configuration, got ${Array.isArray(values) ? 'a list' : typeof values}.`,
    );
  const tree = applyOverrides(unlisted(values), overrides.map(parseOverride));
  const own = Object.fromEntries(
    Object.entries(tree).filter(([name]) => !(modelSections as readonly string[]).includes(name)),
  );
  const modelFile = Object.fromEntries(
    Object.entries(tree).filter(([name]) => (modelSections as readonly string[]).includes(name)),
  );
  const parsed = temporalRunSchema.safeParse(own);
  if (!parsed.success) throw configError(problemsOf(parsed.error, own), origin);
  const { config: model, warnings } = parseTemporalConfig(modelFile);
  const { name, path } = parsed.data.dataset;
  if ((name === '') === (path === ''))
    throw configError(
      [
        {
          key: 'dataset',
          message: `expected a name or a path for dataset, got ${name === '' ? 'neither' : 'both'}. Write dataset: wikipedia, or dataset: { path: events.csv }.`,
        },
      ],
      origin,
    );
  return { config: { ...parsed.data, model, modelFile }, warnings };
}

/** TGL writes every section as a list of one mapping; here they are the mappings. */
function unlisted(values: Tree): Tree {
  return Object.fromEntries(
    Object.entries(values).map(([name, section]) => [
      name,
      Array.isArray(section) && section.length === 1 ? section[0] : section,
    ]),
  );
}

/** The resolved configuration as YAML; reading it again gives the same. */
export function renderTemporalConfig(config: TemporalRunConfig): string {
  const sections = Object.fromEntries(ownSections.map((name) => [name, config[name]]));
  return stringify({ ...sections, ...config.modelFile }, { lineWidth: 0, aliasDuplicateObjects: false });
}
