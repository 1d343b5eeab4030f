/**
 * The work of `skein train --repeat n`: trains a configuration with n seeds, each in its own directory below one folder, and
 * summarises their metrics. Finished repeats are not trained again; an interrupted one is resumed.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import type { WorkerGroup } from '../dist/index.js';
import { writeFileAtomic } from '../storage/atomic-file.js';
import { makeFolder } from '../storage/make-folder.js';
import type { ConfigFile, Output } from '../train/index.js';
import { isEventConfig, loadRunConfig, type RunConfig, renderRunConfig } from '../train/load-run-config.js';
import { jsonLine } from '../train/run/output.js';
import { trainRun } from '../train/train-run.js';
import { FormatError, StateError } from '../util/errors.js';
import { invocation } from '../util/invocation.js';
import { type RepeatedRun, repeatTable, summarize } from './repeat-summary.js';

export interface RepeatOptions {
  readonly file: ConfigFile;
  /** The path of the file, which gives the folder its default name. */
  readonly path: string;
  readonly overrides: readonly string[];
  readonly count: number;
  readonly group: WorkerGroup;
  readonly output: Output;
  readonly profile: boolean;
  /** Completes the configuration of a run. */
  complete(config: RunConfig): RunConfig;
}

interface RepeatRecord {
  readonly version: 1;
  /** The resolved configuration of the first repeat. */
  readonly configuration: string;
  readonly seed: number;
}

const recordFile = 'repeat.json';

/** Returns whether all were trained, not interrupted. Collective: all workers call it. */
export async function repeatRuns(options: RepeatOptions): Promise<boolean> {
  const { count, group, output, file } = options;
  const { folder, seed } = await group.onRoot(() => openRepeats(options));
  const runs: RepeatedRun[] = [];
  for (let i = 0; i < count; i++) {
    const directory = join(folder, `seed_${seed + i}`);
    const isDone = await group.onRoot(() => existsSync(join(directory, 'done.json')));
    if (isDone)
      output.text(`repeat ${i + 1} of ${count}, seed ${seed + i}: finished before, in ${directory}`);
    else {
      output.text(`repeat ${i + 1} of ${count}, seed ${seed + i}`);
      const config = await group.onRoot(() => configOf(options, seed + i, directory, existsSync(directory)));
      const source = file.text;
      const { interrupted } = await trainRun({ config, output, source, group, profile: options.profile });
      if (interrupted) {
        output.text(`Stopped in repeat ${i + 1} of ${count}. The same command continues.`);
        return false;
      }
    }
    runs.push(await group.onRoot(() => readOutcome(directory, seed + i)));
  }
  const summary = summarize(runs);
  for (const line of repeatTable(runs, summary)) output.text(line);
  await group.onRoot(() => writeSummary(folder, { directory: folder, ...summary, runs }));
  output.text(`Saved in ${folder}`);
  output.event('done', { directory: folder, repeats: count, ...summary, runs });
  return true;
}

/** Creates or reopens the folder of the repeats; throws for one that belongs to something else. */
async function openRepeats({ file, path, overrides, complete }: RepeatOptions) {
  if (statSync(path).isDirectory())
    throw new StateError(
      `train: expected a configuration file with --repeat, got ${path}, the directory of a run. Give the file.`,
    );
  const { config } = loadRunConfig(file, overrides);
  const folder = resolve(config.storage.model_dir ?? join('runs', basename(path, extname(path))));
  if (existsSync(join(folder, 'full_config.yaml')))
    throw new StateError(
      `train: expected a folder for the repeats, got ${folder}, which is the directory of a run. Name another with --storage.model_dir.`,
    );
  const at = join(folder, recordFile);
  const known = existsSync(at) ? readRepeatRecord(at) : null;
  const seed = known?.seed ?? seedOf(config);
  const configuration = renderRunConfig(
    complete(loadRunConfig(file, [...overrides, ...fixed(config, seed, folder, false)]).config),
  );
  if (known !== null && (known.configuration !== configuration || seedIsOther(overrides, config, seed)))
    throw new StateError(
      `train: expected the configuration of the repeats in ${folder}, got another. Name another folder with --storage.model_dir, or repeat with the first configuration (${invocation()} config compares files).`,
    );
  makeFolder(folder);
  if (known === null) {
    const record: RepeatRecord = { version: 1, configuration, seed };
    await writeFileAtomic(at, new TextEncoder().encode(jsonLine({ ...record })));
  }
  return { folder, seed };
}

/** Returns whether the seed was given and differs; a drawn one is that of the first call. */
function seedIsOther(overrides: readonly string[], config: RunConfig, seed: number): boolean {
  const given = overrides.some((text) => /^(--)?(training|model)\.random_seed=/.test(text));
  return given && seedOf(config) !== seed;
}

function seedOf(config: RunConfig): number {
  return isEventConfig(config) ? config.training.random_seed : config.model.random_seed;
}

function fixed(config: RunConfig, seed: number, directory: string, resume: boolean): string[] {
  const key = isEventConfig(config) ? 'training.random_seed' : 'model.random_seed';
  return [
    `${key}=${seed}`,
    `storage.model_dir=${JSON.stringify(directory)}`,
    `training.resume_training=${resume}`,
  ];
}

function configOf(
  { file, overrides, complete }: RepeatOptions,
  seed: number,
  directory: string,
  resume: boolean,
): RunConfig {
  const { config } = loadRunConfig(file, overrides);
  return complete(loadRunConfig(file, [...overrides, ...fixed(config, seed, directory, resume)]).config);
}

function readJson(path: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Readonly<Record<string, unknown>>;
  } catch (error) {
    throw new FormatError(
      `${path}: expected JSON, got a damaged file. Remove it to train again.`,
      { path },
      { cause: error },
    );
  }
}

function readRepeatRecord(path: string): RepeatRecord {
  const record = readJson(path);
  if (record['version'] === 1 && typeof record['seed'] === 'number') return record as unknown as RepeatRecord;
  throw new FormatError(`${path}: expected the record of repeats, got another file. Name another folder.`, {
    path,
  });
}

function readOutcome(directory: string, seed: number): RepeatedRun {
  const path = join(directory, 'done.json');
  const { best, validation, test } = readJson(path) as unknown as RepeatedRun & { readonly best?: object };
  if (typeof validation !== 'object' || typeof test !== 'object')
    throw new FormatError(
      `${path}: expected validation and test metrics, got none. Remove ${directory} to train again.`,
      { path },
    );
  return { seed, directory, ...(best === undefined ? {} : { best }), validation, test };
}

async function writeSummary(folder: string, summary: Readonly<Record<string, unknown>>): Promise<void> {
  await writeFileAtomic(join(folder, 'summary.json'), new TextEncoder().encode(jsonLine(summary)));
}
