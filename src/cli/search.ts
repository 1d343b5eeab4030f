/** The work of `skein search`: searches settings of a configuration, prints the trials and may retrain the best. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readConfigFile } from '../train/config/config-file.js';
import { applyOverrides, parseOverride } from '../train/config/overrides.js';
import { loadPlugins, Output, retrainBest, type SearchOptions, searchConfig } from '../train/index.js';
import { formatMetric } from '../train/run/reporter.js';
import { builtInSpaces } from '../train/search/built-in-spaces.js';
import { settingsFile } from '../train/search/search-files.js';
import { keyImportance, searchReport } from '../train/search/search-report.js';
import { isTemporalConfig } from '../train/tasks/events/run-config.js';
import { StateError, ValueError } from '../util/errors.js';
import { invocation } from '../util/invocation.js';
import type { Tree } from '../util/schema/key-path.js';
import type { PluginOptions } from './options/options.js';

export interface SearchCommand extends PluginOptions {
  readonly space?: string;
  readonly trials?: number;
  readonly outputDir?: string;
  readonly sampler?: SearchOptions['sampler'];
  readonly variant?: SearchOptions['variant'];
  readonly seed?: number;
  readonly jobs: number;
  readonly time?: number;
  readonly retrain: boolean;
  readonly seeds: number;
  readonly json: boolean;
  readonly set: readonly string[];
}

export async function searchCommand(path: string, command: SearchCommand): Promise<void> {
  const output = new Output({ json: command.json });
  await loadPlugins(command.plugin, 'search');
  if (command.jobs > 1 && command.plugin.length > 0)
    throw new ValueError('search: expected --jobs 1 with --plugin, got more. Leave out one of them.');
  const isResumed = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const given = isResumed ? resumedOptions(path, command) : startedOptions(path, command);
  const { trials, sampler, variant, seed, jobs, time } = command;
  const result = await searchConfig({
    ...{ ...given, jobs, output },
    ...(trials === undefined ? {} : { trials }),
    ...(sampler === undefined ? {} : { sampler }),
    ...(variant === undefined ? {} : { variant }),
    ...(seed === undefined ? {} : { seed }),
    ...(time === undefined ? {} : { minutes: time }),
  });
  const { directory, interrupted, metric, best, failed } = result;
  output.text('');
  for (const line of searchReport(result)) output.text(line);
  const resume = `${invocation()} search ${directory}`;
  if (interrupted) output.text(`Stopped. Resume with: ${resume}`);
  else if (best === null)
    throw new StateError(
      `search: expected a trial that can be trained, got ${failed.length} that failed. ${failed[0]?.reason ?? ''}`,
    );
  const retrained =
    command.retrain && !interrupted ? await retrain(directory, metric, command.seeds, output) : {};
  output.event('done', { ...result, importance: keyImportance(result), ...retrained });
  output.doneIn();
}

function startedOptions(path: string, { space, outputDir, set }: SearchCommand): SearchOptions {
  if (space === undefined)
    throw new ValueError(
      `search: expected a file or one of ${builtInSpaces.join(', ')} for --space, got none. See docs/search.md.`,
    );
  const file = readConfigFile(path);
  if (isTemporalConfig(file))
    throw new ValueError(
      `search: expected the configuration of a run over a graph, got ${path}, which is for a stream of events.`,
    );
  return {
    directory: outputDir ?? newDirectory(),
    config: applyOverrides(file.values as Tree, set.map(parseOverride)),
    space: readSpace(space),
  };
}

function readSpace(space: string): unknown {
  if (builtInSpaces.includes(space)) return space;
  if (statSync(space, { throwIfNoEntry: false })?.isFile() !== true)
    throw new ValueError(
      `search: expected a YAML file or one of ${builtInSpaces.join(', ')} for --space, got ${space}, which is not a file. Check the path.`,
    );
  return readConfigFile(space, true).values;
}

function resumedOptions(path: string, { space, outputDir, set }: SearchCommand): SearchOptions {
  if (!existsSync(join(path, settingsFile)))
    throw new StateError(
      `search: expected a configuration file or the directory of a search, got ${path}, which has no ${settingsFile}.`,
    );
  if (space !== undefined || outputDir !== undefined || set.length > 0)
    throw new ValueError(
      'search: expected only --trials, --jobs, --time and --retrain for a search that is resumed, got other settings. Leave them out, or start another search.',
    );
  return { directory: path };
}

/** Returns the first of runs/search-1, runs/search-2, … that does not exist. */
function newDirectory(): string {
  const taken = new Set(existsSync('runs') ? readdirSync('runs') : []);
  let count = 1;
  while (taken.has(`search-${count}`)) count++;
  return join('runs', `search-${count}`);
}

async function retrain(directory: string, metric: string, seeds: number, output: Output): Promise<object> {
  const { runs, mean, deviation, interrupted } = await retrainBest(directory, seeds, output);
  if (interrupted) {
    output.text(`Stopped. Resume with: ${invocation()} search ${directory} --retrain --seeds ${seeds}`);
    return {};
  }
  const names = [metric, ...Object.keys(mean).filter((name) => name !== metric)];
  const cells = names
    .filter((name) => name in mean)
    .map((name) => `${name} ${formatMetric(mean[name])} ± ${formatMetric(deviation[name])}`);
  output.text(`test, ${runs.length} seeds  ${cells.join('  ')}`);
  return { retrained: { runs, mean, deviation } };
}
