/** A temporal run as it was saved, opened to be judged or to score a living stream. Nothing in its directory is written. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { TemporalGraph } from '../../graph/index.js';
import { OnlineScorer } from '../../temporal/index.js';
import { StateError } from '../../util/errors.js';
import { checkRunConfig } from '../run/index.js';
import { assembleTemporal, type PlainAssembly, samplerOf } from './assemble.js';
import { checkTemporalRecord } from './check-record.js';
import { type OpenedStream, openStream } from './open-stream.js';
import { isTemporalConfig, loadTemporalConfig, type TemporalRunConfig } from './run-config.js';
import {
  latestTemporal,
  TemporalCheckpoints,
  type TemporalRecord,
  temporalModelFile,
} from './temporal-checkpoint.js';

const configFile = 'full_config.yaml';

export interface OpenedTemporalRun {
  readonly directory: string;
  readonly checkpoint: string;
  readonly config: TemporalRunConfig;
  readonly stream: OpenedStream;
  readonly parts: PlainAssembly;
  readonly record: TemporalRecord;
}

/** The directory of the run that a path is or lies in; null when it is none. */
function runDirectory(path: string): string | null {
  const given = resolve(path);
  if (statSync(given, { throwIfNoEntry: false })?.isDirectory() !== true) return null;
  return [given, dirname(given)].find((folder) => existsSync(join(folder, configFile))) ?? null;
}

/** Whether a path names a temporal run, one of its checkpoints, or a temporal configuration. */
export function isTemporalRun(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return false;
  if (found.isFile()) return isTemporalConfig(path);
  const directory = runDirectory(path);
  return directory !== null && isTemporalConfig(join(directory, configFile));
}

/** The run that a configuration file names. */
function namedRun(path: string, command: string, overrides: readonly string[]): string {
  const directory = loadTemporalConfig(path, overrides).config.storage.model_dir;
  if (directory !== null) return directory;
  throw new StateError(
    `${command}: expected storage.model_dir in ${path}, got none. Name the directory of the run, which training printed as "Saved in".`,
  );
}

export interface OpenTemporalOptions {
  /** What opens it; starts the messages of errors. */
  readonly command?: string;
  readonly overrides?: readonly string[];
  /** Of a run with several states, the one after the best validation, before the test, where there is one. */
  readonly best?: boolean;
}

/** Opens a run, one of its checkpoints, or the run of a configuration file. */
export async function openTemporalRun(
  target: string,
  { command = 'openTemporalRun', overrides = [], best = false }: OpenTemporalOptions = {},
): Promise<OpenedTemporalRun> {
  const isFile = statSync(target, { throwIfNoEntry: false })?.isFile() === true;
  const path = isFile ? namedRun(target, command, overrides) : target;
  const directory = runDirectory(path);
  if (directory === null)
    throw new StateError(
      `${command}: expected the directory of a temporal run, got ${path}, which has no ${configFile}. Name what training printed as "Saved in".`,
    );
  checkRunConfig(join(directory, configFile));
  const { config } = loadTemporalConfig(join(directory, configFile), overrides);
  const given = resolve(path);
  const own = given === directory ? '' : given.slice(directory.length + 1);
  const name = own === '' && best && existsSync(join(directory, 'best', temporalModelFile)) ? 'best' : own;
  const found = existsSync(join(directory, name, temporalModelFile))
    ? name
    : name === ''
      ? ((await latestTemporal(directory))?.name ?? null)
      : null;
  if (found === null)
    throw new StateError(
      `${command}: expected a model in ${path}, got none. Let the run come to its end, or go on with training.resume_training: true.`,
    );
  const stream = await openStream(config);
  const parts = assembleTemporal(config, stream);
  const record = await new TemporalCheckpoints(directory, parts).restore(found);
  checkTemporalRecord(join(directory, found), record, config, stream);
  return { directory, checkpoint: join(directory, found), config, stream, parts, record };
}

/** A scorer that goes on where the stream of a finished run ends. */
export function onlineScorer(
  { config, stream, parts, directory, record }: OpenedTemporalRun,
  command = 'serve',
): OnlineScorer {
  if (record.stage !== 'finished')
    throw new StateError(
      `${command}: expected the final state of a finished run, got a checkpoint of ${directory} from the middle of training. Let the run come to its end.`,
    );
  const graph: TemporalGraph = stream.graph;
  return new OnlineScorer({
    graph,
    runtime: parts.runtime,
    batchSize: config.model.train.batch_size,
    pairDepth: config.model.gnn.pair_depth,
    sampler: samplerOf(config, graph),
  });
}
