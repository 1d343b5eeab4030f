/** `skein train`: trains what a configuration describes. */
import type { Command } from 'commander';
import { type JsonOptions, jsonOption, type OverrideOptions, overrideOption } from '../options.js';

interface TrainOptions extends JsonOptions, OverrideOptions {
  readonly profile: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('train')
    .description('train the model of a configuration file')
    .argument(
      '<config|run>',
      'a YAML file with Marius\'s keys ("skein config <dataset>" prints one to start from), or with those of TGL; the directory of a run, with --training.resume_training=true, goes on with it',
    )
    .option('--profile', 'write a trace of the stages (trace.json, for chrome://tracing or Perfetto)', false);
  overrideOption(jsonOption(command)).action(train);
}

async function train(path: string, options: TrainOptions): Promise<void> {
  const { trainTarget } = await import('../train-target.js');
  const { loadConfig, loadTemporalConfig, Output, trainRun, trainTemporalRun } = await import(
    '../../train/index.js'
  );
  const output = new Output({ json: options.json });
  const { file, source, overrides, temporal } = trainTarget(path, options.set);
  const { profile } = options;
  if (temporal) {
    const { config, warnings } = loadTemporalConfig(file, overrides);
    for (const warning of warnings) output.warn(warning);
    await trainTemporalRun({ config, output, source, profile });
    return;
  }
  const { config, warnings } = loadConfig(file, overrides);
  for (const warning of warnings) output.warn(warning);
  await trainRun({ config, output, source, profile });
}
