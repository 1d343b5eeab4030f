/**
 * `skein config`: prints a commented starting configuration for a dataset; or, given a configuration file, checks it and
 * prints it with all defaults filled in.
 */
import { existsSync, statSync } from 'node:fs';
import type { Command } from 'commander';
import { parse } from 'yaml';
import type { LearningTask } from '../../train/config/types.js';
import { ValueError } from '../../util/errors.js';
import {
  type OverrideOptions,
  overrideOption,
  type PluginOptions,
  pluginOption,
} from '../options/options.js';
import { setKeys } from '../options/set-keys.js';

export function register(program: Command): void {
  const command = program
    .command('config')
    .description('Print a commented starting configuration for a dataset, or check a configuration file')
    .argument(
      '[dataset|file]',
      'Prepared dataset, name of a known dataset, event file, or configuration file',
    )
    .option(
      '--task <task>',
      'LINK_PREDICTION (LP) or NODE_CLASSIFICATION (NC) (default: NC if nodes have labels, else LP)',
    );
  command.option('--schema', 'Print the JSON Schema of configurations, for editors', false);
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
        `config: expected no dataset or file with --schema, got ${name}. The schema covers all configurations.`,
      );
    const { configJsonSchema } = await import('../../train/json-schema.js');
    process.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
    return;
  }
  if (name === undefined)
    throw new ValueError(
      'config: expected a dataset or a file, got neither. Give one, such as fb15k-237; --schema prints the JSON Schema.',
    );
  const { hasEvents } = await import('../info.js');
  const { temporalDatasetNames } = await import('../../data/index.js');
  const known = (temporalDatasetNames as readonly string[]).includes(name) && !existsSync(name);
  if (known || hasEvents(name)) {
    return printEventTemplate(known ? { name } : { path: name }, options.set);
  }
  const isFile = /\.ya?ml$/.test(name) || statSync(name, { throwIfNoEntry: false })?.isFile() === true;
  if (isFile && options.task !== undefined)
    throw new ValueError(
      `config: expected no --task with a configuration file, got ${options.task}. Write model.learning_task into the file, or pass --model.learning_task=${options.task}.`,
    );
  await (isFile ? printResolved(name, options.set) : printTemplate(name, options.task, options.set));
}

async function printEventTemplate(
  dataset: { readonly name: string } | { readonly path: string },
  keys: readonly string[],
): Promise<void> {
  const { checkEventColumns } = await import('../../data/temporal/read-temporal.js');
  const { resolveTemporalConfig } = await import('../../train/index.js');
  const { streamOptions } = await import('../../train/tasks/events/stream-options.js');
  const { temporalTemplate } = await import('../../train/tasks/events/temporal-template.js');
  const text = temporalTemplate(dataset, keys);
  const { config, warnings } = resolveTemporalConfig(parse(text), keys);
  // Throws if the file is not an event file, or if its columns must be named.
  if ('path' in dataset) await checkEventColumns(dataset.path, streamOptions(config));
  print(setKeys(text, keys), warnings);
}

async function printResolved(path: string, overrides: readonly string[]): Promise<void> {
  const { loadRunConfig, renderRunConfig } = await import('../../train/load-run-config.js');
  const { config, warnings } = loadRunConfig(path, overrides);
  print(renderRunConfig(config), warnings);
}

function print(text: string, warnings: readonly string[]): void {
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
  process.stdout.write(text);
}

async function printTemplate(
  dataset: string,
  wanted: string | undefined,
  keys: readonly string[],
): Promise<void> {
  const { checkAgainstDataset } = await import('../../train/config/check-dataset.js');
  const { configTemplate } = await import('../../train/config/template.js');
  const { datasetFacts } = await import('../../train/config/dataset-facts.js');
  const { resolveConfig } = await import('../../train/config/index.js');
  const facts = await datasetFacts(dataset);
  const classified = (facts.num_classes ?? 0) > 0;
  const task = tasks[(wanted ?? (classified ? 'NC' : 'LP')).toUpperCase()];
  if (task === undefined)
    throw new ValueError(
      `config: expected LINK_PREDICTION or NODE_CLASSIFICATION for --task, got ${wanted}. LP and NC are accepted too.`,
    );
  if (task === 'NODE_CLASSIFICATION' && !classified)
    throw new ValueError(
      `config: expected LINK_PREDICTION for --task, got ${wanted}. ${dataset} has no labels.`,
    );
  const text = configTemplate({ dataset, task, facts });
  // The template itself is valid; overrides are checked as training checks them.
  const { config, warnings } = resolveConfig(parse(text), keys);
  const isSameDataset = config.storage.dataset.dataset_dir === dataset;
  print(setKeys(text, keys), [...warnings, ...(isSameDataset ? checkAgainstDataset(config, facts) : [])]);
}
