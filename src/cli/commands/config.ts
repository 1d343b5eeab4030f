/**
 * `skein config`: a commented starting configuration for a dataset; or, given a configuration file, that file checked and
 * with every default filled in.
 */
import { existsSync, statSync } from 'node:fs';
import type { Command } from 'commander';
import { parse } from 'yaml';
import type { LearningTask } from '../../train/config/index.js';
import { ValueError } from '../../util/errors.js';
import { type OverrideOptions, overrideOption, type PluginOptions, pluginOption } from '../options.js';
import { setKeys } from '../set-keys.js';

export function register(program: Command): void {
  const command = program
    .command('config')
    .description('print a commented starting configuration for a dataset, or check a configuration file')
    .argument(
      '[dataset|file]',
      'a prepared directory, the name of a known dataset, a file of events, or a configuration file',
    )
    .option(
      '--task <task>',
      'LINK_PREDICTION (LP) or NODE_CLASSIFICATION (NC); default: what the data are made for',
    );
  command.option('--schema', 'print the JSON Schema of configurations, for editors', false);
  overrideOption(pluginOption(command)).action(config);
}

interface ConfigOptions extends OverrideOptions, PluginOptions {
  readonly task?: string;
  readonly schema: boolean;
}

const tasks: Readonly<Record<string, LearningTask>> = {
  LP: 'LINK_PREDICTION',
  LINK_PREDICTION: 'LINK_PREDICTION',
  NC: 'NODE_CLASSIFICATION',
  NODE_CLASSIFICATION: 'NODE_CLASSIFICATION',
};

async function config(name: string | undefined, options: ConfigOptions): Promise<void> {
  if (options.plugin.length > 0)
    await (await import('../../train/index.js')).loadPlugins(options.plugin, 'config');
  if (options.schema) {
    if (name !== undefined)
      throw new ValueError(
        `config: expected no dataset or file beside --schema, got ${name}. The schema is that of all configurations.`,
      );
    const { configJsonSchema } = await import('../../train/json-schema.js');
    process.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
    return;
  }
  if (name === undefined)
    throw new ValueError(
      'config: expected a dataset or a file, got neither. Name one, for example fb15k-237; --schema prints the JSON Schema.',
    );
  const { hasEvents } = await import('../info.js');
  const { temporalDatasetNames } = await import('../../data/index.js');
  const known = (temporalDatasetNames as readonly string[]).includes(name) && !existsSync(name);
  if (known || hasEvents(name)) {
    return events(known ? { name } : { path: name }, options.set);
  }
  const isFile = /\.ya?ml$/.test(name) || statSync(name, { throwIfNoEntry: false })?.isFile() === true;
  await (isFile ? resolved(name, options.set) : template(name, options.task, options.set));
}

async function events(
  dataset: { readonly name: string } | { readonly path: string },
  keys: readonly string[],
): Promise<void> {
  const { checkEventColumns } = await import('../../data/temporal/read-temporal.js');
  const { resolveTemporalConfig, streamOptions, temporalTemplate } = await import('../../train/index.js');
  const text = temporalTemplate(dataset);
  const { config, warnings } = resolveTemporalConfig(parse(text), keys);
  // Refuses a file of other lines, and one whose columns have to be named.
  if ('path' in dataset) await checkEventColumns(dataset.path, streamOptions(config));
  print(setKeys(text, keys), warnings);
}

async function resolved(path: string, overrides: readonly string[]): Promise<void> {
  const { loadRunConfig, renderRunConfig } = await import('../../train/index.js');
  const { config, warnings } = loadRunConfig(path, overrides);
  print(renderRunConfig(config), warnings);
}

function print(text: string, warnings: readonly string[]): void {
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
  process.stdout.write(text);
}

async function template(dataset: string, wanted: string | undefined, keys: readonly string[]): Promise<void> {
  const { checkAgainstDataset, configTemplate, datasetFacts, resolveConfig } = await import(
    '../../train/config/index.js'
  );
  const facts = await datasetFacts(dataset);
  const classified = (facts.num_classes ?? 0) > 0;
  const task = tasks[(wanted ?? (classified ? 'NC' : 'LP')).toUpperCase()];
  if (task === undefined)
    throw new ValueError(
      `config: expected LINK_PREDICTION or NODE_CLASSIFICATION for --task, got ${wanted}. LP and NC do as well.`,
    );
  if (task === 'NODE_CLASSIFICATION' && !classified)
    throw new ValueError(
      `config: expected LINK_PREDICTION for --task, got ${wanted}. ${dataset} has no labels.`,
    );
  const text = configTemplate({ dataset, task, facts });
  // A template is sound as it is; what was given beside it is checked as training does.
  const { config, warnings } = resolveConfig(parse(text), keys);
  const own = config.storage.dataset.dataset_dir === dataset;
  print(setKeys(text, keys), [...warnings, ...(own ? checkAgainstDataset(config, facts) : [])]);
}
