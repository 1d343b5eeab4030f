/**
 * A training run from a configuration, for any task. Everything that must survive is in the directory of the run. An
 * interrupted run resumes from its last checkpoint, with the result of an uninterrupted one. Several workers train one run;
 * rank 0 owns the directory.
 */

import type { WorkerGroup } from '../dist/index.js';
import { expected, isCollective, markCollective, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { isEventConfig, type RunConfig } from './load-run-config.js';
import { Output } from './run/index.js';
import { withResumeAdvice } from './run/resume-advice.js';
import { RunDirectory } from './run/run-directory.js';
import type { RunResult } from './run/run-plan.js';
import { latestCheckpoint } from './run/run-record.js';
import { RunSession } from './run/run-session.js';
import { openWorkers, outputOf } from './run/workers.js';
import { prepareEventRun } from './tasks/events/event-run.js';
import { prepareGraphRun } from './tasks/graph/graph-run.js';
import type { RunSamplers } from './tasks/graph/initialize-model.js';
import { isSharded } from './tasks/nodes/sharded/open-shards.js';

export interface TrainRunOptions {
  readonly config: RunConfig;
  /** The text of the configuration file, stored with the run. */
  readonly source?: string;
  /** Default: text on standard output. */
  readonly output?: Output;
  /** Write a trace of the stages. */
  readonly profile?: boolean;
  /** Evaluate the test split at the end (default true). */
  readonly test?: boolean;
  /** Custom samplers for the training batches of a run over a graph; a resumed run needs them again. */
  readonly samplers?: RunSamplers;
  /** The workers; all of them make this call. Default: those that a launcher started. */
  readonly group?: WorkerGroup;
}

/** Trains a run. Collective: all workers call it; rank 0 writes the directory and prints. */
export async function trainRun(given: TrainRunOptions): Promise<RunResult> {
  checkOptionNames('trainRun', given, {
    config: true,
    source: true,
    output: true,
    profile: true,
    test: true,
    samplers: true,
    group: true,
  });
  const { group = openWorkers(given.config.distributed) } = given;
  const output = outputOf(group, given.output ?? new Output());
  const work = (): Promise<RunResult> => trainOnWorkers({ ...given, group, output });
  // A caller that passes a group ends the job itself when a worker fails.
  return given.group === undefined ? group.run(work) : work();
}

type WorkerOptions = TrainRunOptions & { readonly group: WorkerGroup; readonly output: Output };

async function trainOnWorkers({
  config,
  source,
  group,
  output,
  profile = false,
  test = true,
  samplers = {},
}: WorkerOptions): Promise<RunResult> {
  checkSamplers(config, samplers, group.size);
  const prepared = isEventConfig(config)
    ? await prepareEventRun(config, { group, output })
    : await prepareGraphRun(config, { group, output, samplers });
  try {
    using run = await RunDirectory.openAt({
      ...{ ...prepared.settings, group },
      ...(source === undefined ? {} : { source }),
    });
    output.event('config', { directory: run.path, ...prepared.details });
    const session = new RunSession({ plan: await prepared.plan(run), run, output, group, profile, test });
    try {
      return await session.train();
    } catch (error) {
      // An error that all workers have is logged once.
      if (group.isRoot || !isCollective(error)) run.logFailure(error);
      throw await withResumeAdvice(error, run.path, latestCheckpoint);
    } finally {
      await session.close();
    }
  } finally {
    prepared.close();
  }
}

/** Throws for samplers that the run would not use or cannot use. The result is the same on all workers. */
function checkSamplers(config: RunConfig, samplers: RunSamplers, workers: number): void {
  checkOptionNames('trainRun samplers', samplers, { negatives: true, neighbors: true });
  for (const [name, sampler] of Object.entries(samplers)) {
    if (typeof sampler !== 'function')
      throw markCollective(new ValueError(expected('trainRun', 'a function', `samplers.${name}`, sampler)));
    const advice = samplerAdvice(name as keyof RunSamplers, config, workers);
    if (advice === null) continue;
    throw markCollective(
      new ValueError(expected('trainRun', 'nothing', `samplers.${name}`, 'a sampler', advice)),
    );
  }
}

function samplerAdvice(name: keyof RunSamplers, config: RunConfig, workers: number): string | null {
  const idle = 'The batches of this run do not use one. Leave it out.';
  if (isEventConfig(config) || isSharded(config)) return idle;
  const { learning_task: task, encoder } = config.model;
  if (name === 'negatives') return task === 'LINK_PREDICTION' ? null : idle;
  if (!encoder.layers.flat().some(({ type }) => type === 'GNN')) return idle;
  return workers === 1
    ? null
    : 'A custom sampler cannot draw the whole batch of several workers. Use one worker.';
}
