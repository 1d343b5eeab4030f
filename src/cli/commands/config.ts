/**
 * `skein config`: a commented starting configuration for a dataset; or, given a configuration file, that file checked and
 * with every default filled in.
 */
import { existsSync, statSync } from 'node:fs';
import type { Command } from 'commander';
import type { LearningTask } from '../../train/config/index.js';
import { ValueError } from '../../util/errors.js';
import { type OverrideOptions, overrideOption } from '../options.js';

export function register(program: Command): void {
  const command = program
    .command('config')
    .description('print a commented starting configuration for a dataset, or check a configuration file')
    .argument(
      '<dataset|file>',
      'a prepared directory, the name of a known dataset, a file of events, or a configuration file',
    )
    .option(
      '--task <task>',
      'LINK_PREDICTION (LP) or NODE_CLASSIFICATION (NC); default: what the data are made for',
    );
  overrideOption(command).action(config);
}

const tasks: Readonly<Record<string, LearningTask>> = {
  LP: 'LINK_PREDICTION',
  LINK_PREDICTION: 'LINK_PREDICTION',
  NC: 'NODE_CLASSIFICATION',
  NODE_CLASSIFICATION: 'NODE_CLASSIFICATION',
};

async function config(name: string, options: OverrideOptions & { readonly task?: string }): Promise<void> {
  const { hasEvents } = await import('../info.js');
  const { temporalDatasetNames } = await import('../../data/index.js');
  const known = (temporalDatasetNames as readonly string[]).includes(name) && !existsSync(name);
  if (known || hasEvents(name)) {
    const { findEventFile } = await import('../../data/temporal/event-files.js');
    const { temporalTemplate } = await import('../../train/index.js');
    // Refuses a file of other lines.
    if (!known) await findEventFile(name, undefined);
    process.stdout.write(temporalTemplate(known ? { name } : { path: name }));
    return;
  }
  const isFile = /\.ya?ml$/.test(name) || statSync(name, { throwIfNoEntry: false })?.isFile() === true;
  await (isFile ? resolved(name, options.set) : template(name, options.task));
}

async function resolved(path: string, overrides: readonly string[]): Promise<void> {
  const { isTemporalConfig, loadConfig, loadTemporalConfig, renderConfig, renderTemporalConfig } =
    await import('../../train/index.js');
  const { text, warnings } = isTemporalConfig(path)
    ? rendered(loadTemporalConfig(path, overrides), renderTemporalConfig)
    : rendered(loadConfig(path, overrides), renderConfig);
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
  process.stdout.write(text);
}

function rendered<T>(
  { config, warnings }: { readonly config: T; readonly warnings: readonly string[] },
  render: (config: T) => string,
): { readonly text: string; readonly warnings: readonly string[] } {
  return { text: render(config), warnings };
}

async function template(dataset: string, wanted: string | undefined): Promise<void> {
  const { configTemplate, datasetFacts } = await import('../../train/config/index.js');
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
  process.stdout.write(configTemplate({ dataset, task, facts }));
}
