/** `skein train`: trains what a configuration describes. */
import type { Command } from 'commander';
import {
  type JsonOptions,
  jsonOption,
  type OverrideOptions,
  overrideOption,
  type PluginOptions,
  pluginOption,
} from '../options.js';

interface TrainOptions extends JsonOptions, OverrideOptions, PluginOptions {
  readonly profile: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('train')
    .description('train the model of a configuration file; on several workers: skein run -n 4 train …')
    .argument(
      '<config|run>',
      'a YAML file with Marius\'s keys ("skein config <dataset>" prints one to start from), or with those of TGL; the directory of a run, with --training.resume_training=true, goes on with it',
    )
    .option('--profile', 'write a trace of the stages (trace.json, for chrome://tracing or Perfetto)', false);
  overrideOption(jsonOption(pluginOption(command))).action(train);
}

async function train(path: string, options: TrainOptions): Promise<void> {
  const { trainTarget } = await import('../train-target.js');
  const { launchedBy } = await import('../../dist/index.js');
  const { endTogether } = await import('../end-together.js');
  const { loadPlugins, loadRunConfig, Output, openWorkers, outputOf, trainRun, withWorkers } = await import(
    '../../train/index.js'
  );
  // Read once in each process, also when it fails: what is wrong with the file is said by rank 0, below.
  const read = once(() => {
    const { file, source, overrides } = trainTarget(path, options.set);
    const { config, warnings } = loadRunConfig(file, overrides);
    return { source, warnings, config: withWorkers(config) };
  });
  const failure = await loadPlugins(options.plugin, 'train').then(
    () => null,
    (error: unknown) => ({ error }),
  );
  /** Workers need their time-outs before they can speak. */
  const section = () => {
    try {
      return read().config.distributed;
    } catch {
      return null;
    }
  };
  const group = openWorkers(launchedBy() === null ? null : section());
  const output = outputOf(group, new Output({ json: options.json }));
  const { profile } = options;
  await endTogether(group, options.json, async () => {
    await group.onEveryRank(() => {
      if (failure !== null) throw failure.error;
    });
    // The seed may be drawn: all take that of rank 0.
    const { source, warnings, config } = await group.onRoot(read);
    for (const warning of warnings) output.warn(warning);
    await trainRun({ config, output, source, profile, group });
  });
}

/** The result of the first call, or its error, for every call. */
function once<T>(make: () => T): () => T {
  let result: { readonly value: T } | { readonly error: unknown } | undefined;
  return () => {
    if (result === undefined) {
      try {
        result = { value: make() };
      } catch (error) {
        result = { error };
      }
    }
    if ('error' in result) throw result.error;
    return result.value;
  };
}
