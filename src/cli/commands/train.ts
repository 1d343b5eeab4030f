/** `skein train`: trains what a configuration describes. */
import type { Command } from 'commander';
import {
  type JsonOptions,
  jsonOption,
  type OverrideOptions,
  overrideOption,
  type PluginOptions,
  pluginOption,
  positiveInteger,
} from '../options/options.js';

interface TrainOptions extends JsonOptions, OverrideOptions, PluginOptions {
  readonly profile: boolean;
  readonly repeat?: number;
  readonly ui: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('train')
    .description('Train the model of a configuration file; on several workers: skein run -n 4 train …')
    .argument(
      '<config|run>',
      'YAML file with the keys of Marius or TGL ("skein config <dataset>" prints one), or the directory of a run to resume with --training.resume_training=true',
    )
    .option('--profile', 'Write a trace of the stages to trace.json, for chrome://tracing or Perfetto', false)
    .option(
      '--repeat <n>',
      'Train with n seeds, s, s + 1, …, and print mean and standard deviation of the metrics; finished ones are kept',
      positiveInteger,
    )
    .option(
      '--ui',
      'Show the run in a browser while it trains; on a terminal the page stays open afterwards, until Ctrl+C',
      false,
    );
  overrideOption(jsonOption(pluginOption(command))).action(train);
}

async function train(path: string, options: TrainOptions): Promise<void> {
  const { trainTarget } = await import('../train-target.js');
  const { launchedBy } = await import('../../util/launched-by.js');
  const { runOnWorkers } = await import('../run-on-workers.js');
  const { loadPlugins, Output, trainRun } = await import('../../train/index.js');
  const { loadRunConfig } = await import('../../train/load-run-config.js');
  const { openWorkers, outputOf, withWorkers } = await import('../../train/run/workers.js');
  // The file is read once per process, and its error is kept: rank 0 reports it below.
  const read = once(() => {
    const { file, source, overrides } = trainTarget(path, options.set);
    const { config, warnings } = loadRunConfig(file, overrides);
    return { source, warnings, config: withWorkers(config) };
  });
  const failure = await loadPlugins(options.plugin, 'train').then(
    () => null,
    (error: unknown) => ({ error }),
  );
  /** Returns the time-outs, which workers need before they can communicate. */
  const readDistributed = () => {
    try {
      return read().config.distributed;
    } catch {
      return null;
    }
  };
  const group = openWorkers(launchedBy() === null ? null : readDistributed());
  const { profile, repeat: count, json } = options;
  const page = options.ui && group.isRoot ? await pageOutput(options) : null;
  const output = page ?? outputOf(group, new Output({ json }));
  let isFinished = false;
  const work = async (): Promise<void> => {
    await group.onEveryRank(() => {
      if (failure !== null) throw failure.error;
    });
    // The seed may be random: all ranks take that of rank 0.
    const { source, warnings, config } = await group.onRoot(read);
    for (const warning of warnings) output.warn(warning);
    if (count !== undefined) {
      const { repeatRuns } = await import('../repeat.js');
      const { file, overrides } = trainTarget(path, options.set);
      const complete = withWorkers;
      isFinished = await repeatRuns({ file, path, overrides, count, group, output, profile, complete });
    } else {
      const { interrupted } = await trainRun({ config, output, source, profile, group });
      isFinished = !interrupted;
    }
  };
  // A page that was asked for in a script must not keep it from ending.
  await runOnWorkers(group, json, work).finally(() =>
    page?.finish(isFinished && process.stdout.isTTY === true),
  );
}

async function pageOutput({ json, plugin, repeat }: TrainOptions) {
  const { PageOutput } = await import('../page-output.js');
  return new PageOutput({ json, plugins: plugin, showsFolder: repeat !== undefined });
}

/** Returns a function that calls `make` once and repeats its result or its error. */
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
