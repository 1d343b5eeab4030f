/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The directory of one training run (Marius's model_dir): `config.yaml` as given, `full_config.yaml` as resolved,
 * `metrics.jsonl`, `log.txt`, the model and its checkpoints, and `done.json` once it is finished.
 *
 * Nothing is written outside it. A finished run, and one with checkpoints, is opened again only to resume; a directory
 * that is not a run's is left alone. One process at a time works in it. The configuration of a run that goes on is replaced
 * only when its owner has found that it may go on: see `writeConfig`.
 *
 * With several workers rank 0 owns the directory: it alone writes log, metrics and configuration. The others know where it
 * is, may put files of their own into it, and add to the log only what went wrong with them.
 */
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Communicator, WorkerGroup } from '../../dist/index.js';
import { storageError, writeFileAtomic } from '../../storage/atomic-file.js';
import { makeFolder } from '../../storage/make-folder.js';
import { lockForProcess } from '../../storage/process-lock.js';
import { isTemporaryName } from '../../storage/temporary-name.js';
import { FormatError, StateError, StorageError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { SkeinConfig } from '../config/index.js';
import { renderConfig } from '../config/render.js';
import type { LogLevel } from '../config/types.js';
import { dropTornLine, type MetricsRecord, readRecords } from './metrics-file.js';
import { jsonLine } from './output.js';
import { checkpointNames } from './run-record.js';

export interface RunOptions {
  readonly config: SkeinConfig;
  /** The text of the configuration file, kept as `config.yaml`. Default: the resolved configuration. */
  readonly source?: string;
  /** Where a run goes that names no model_dir. Default: storage.dataset.dataset_dir. */
  readonly datasetDir?: string;
  /** Go on in a directory that has a run. Default: training.resume_training. */
  readonly resume?: boolean;
  /** The workers of the run; all open it. Default: this process alone. */
  readonly group?: WorkerGroup;
}

/** What a run's directory needs to know of its configuration. */
export interface RunSettings {
  /** Where it is to be; null: the first free <parent>/model_<i>. */
  readonly directory: string | null;
  readonly parent: string;
  readonly level: LogLevel;
  /** Go on in a directory that has a run. */
  readonly resume: boolean;
  /** The resolved configuration as text, for the directory that it got. */
  readonly resolved: (path: string) => string;
  /** The text of the configuration file. Default: the resolved configuration. */
  readonly source?: string;
  /** The workers of the run; all open it. Default: this process alone. */
  readonly group?: WorkerGroup;
}

const levels: readonly LogLevel[] = ['error', 'warn', 'info', 'debug', 'trace'];
const ownFiles = [
  'config.yaml',
  'full_config.yaml',
  'metrics.jsonl',
  'log.txt',
  'run.lock',
  'done.json',
  'trace.json',
];

/** Folders that a run makes for itself; without a checkpoint they mean nothing. */
const scratch = ['table', 'edges', 'partitions'];

export class RunDirectory {
  readonly path: string;
  /** Whether it had a run before. */
  readonly resumed: boolean;
  readonly #level: number;
  readonly #release: () => void;
  readonly #config: { readonly given: string; readonly resolved: string };
  /** Whether it writes: the other workers' do not. */
  readonly #owner: boolean;
  readonly #rank: number;
  /** Writes into log.txt why a job of several workers ended, when this process cannot any more. */
  readonly #comm: Communicator | null;
  #log = -1;
  #metrics = -1;

  private constructor(path: string, resumed: boolean, { level, source, resolved, group }: RunSettings) {
    this.path = path;
    this.resumed = resumed;
    this.#config = { given: source ?? resolved(path), resolved: resolved(path) };
    this.#level = levels.indexOf(level);
    this.#rank = group?.rank ?? 0;
    this.#comm = group?.comm ?? null;
    this.#owner = this.#rank === 0;
    this.#release = () => {};
    if (!this.#owner) return;
    this.#release = lockRun(path);
    if (resumed) removeTemporary(path);
    if (!resumed)
      for (const name of ['metrics.jsonl', 'log.txt', 'done.json']) rmSync(join(path, name), { force: true });
    this.#log = openSync(join(path, 'log.txt'), 'a');
    dropTornLine(join(path, 'metrics.jsonl'));
    this.#metrics = openSync(join(path, 'metrics.jsonl'), 'a');
  }

  /** Makes or reopens the directory that the configuration asks for; see `openAt`. */
  static async open(options: RunOptions): Promise<RunDirectory> {
    checkOptionNames('RunDirectory.open', options, {
      config: true,
      source: true,
      datasetDir: true,
      resume: true,
      group: true,
    });
    const { config, source, datasetDir, resume, group } = options;
    const { model_dir: directory, log_level: level, dataset } = config.storage;
    return RunDirectory.openAt({
      directory,
      level,
      parent: datasetDir ?? dataset.dataset_dir,
      resume: resume ?? config.training.resume_training,
      resolved: (path) => renderConfig({ ...config, storage: { ...config.storage, model_dir: path } }),
      ...(source === undefined ? {} : { source }),
      ...(group === undefined ? {} : { group }),
    });
  }

  /**
   * Makes or reopens a directory, whatever kind of configuration it is for. A new run has its configuration at once; one
   * that was there before keeps the one that it has until `writeConfig`.
   */
  static async openAt(settings: RunSettings): Promise<RunDirectory> {
    const { group } = settings;
    if (group === undefined) return RunDirectory.#openOwn(settings);
    let own: RunDirectory | null = null;
    const { path, resumed } = await group.onRoot(async () => {
      own = await RunDirectory.#openOwn(settings);
      return { path: own.path, resumed: own.resumed };
    });
    const run = own ?? new RunDirectory(path, resumed, settings);
    group.comm.journal(run.file('log.txt'));
    return run;
  }

  static async #openOwn(settings: RunSettings): Promise<RunDirectory> {
    const { directory, parent, resume } = settings;
    let path: string;
    if (directory === null) {
      if (resume)
        throw new ValueError(
          'run: expected a directory for storage.model_dir, got nothing. To resume, name the directory of the run.',
        );
      path = firstFree(parent);
    } else {
      path = resolve(directory);
      checkUsable(path, resume);
      makeFolder(path);
    }
    const hasRun = existsSync(join(path, 'full_config.yaml'));
    const run = new RunDirectory(path, resume && hasRun, settings);
    if (run.resumed) return run;
    try {
      if (hasRun) run.removeScratch();
      await run.writeConfig();
    } catch (error) {
      run.close();
      throw error;
    }
    return run;
  }

  /** Removes what a run made for itself and no checkpoint refers to. */
  removeScratch(): void {
    if (!this.#owner) return;
    for (const name of scratch) rmSync(this.file(name), { recursive: true, force: true });
  }

  /** Writes the configuration. A run that goes on calls this once its checkpoint is known to belong to it. */
  async writeConfig(): Promise<void> {
    if (!this.#owner) return;
    // A run that goes on is not finished.
    rmSync(this.file('done.json'), { force: true });
    const text = new TextEncoder();
    await writeFileAtomic(this.file('config.yaml'), text.encode(this.#config.given));
    await writeFileAtomic(this.file('full_config.yaml'), text.encode(sealed(this.#config.resolved)));
  }

  /** Whether the run in `path` came to its end. */
  static isFinished(path: string): boolean {
    return existsSync(join(path, 'done.json'));
  }

  /** A path inside the directory; one that would leave it is refused. */
  file(...parts: readonly string[]): string {
    const path = resolve(this.path, ...parts);
    const inside = relative(this.path, path);
    if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
      throw new ValueError(
        `run: expected a path inside ${this.path}, got ${parts.join('/')}. Use a name without "..".`,
      );
    return path;
  }

  /** A line of log.txt; levels below storage.log_level are left out. */
  log(level: LogLevel, message: string): void {
    if (levels.indexOf(level) > this.#level) return;
    const lines = message.split('\n').join('\n    ');
    if (!this.#owner) {
      if (level === 'error') this.#appendFailure(lines);
      return;
    }
    this.#write(this.#log, 'log.txt', `${new Date().toISOString()} ${level.padEnd(5)} ${lines}\n`);
  }

  /** Writes why the run ended into the log. A log that cannot be written must not hide the reason itself. */
  logFailure(reason: unknown): void {
    try {
      this.log('error', reason instanceof Error ? reason.message : String(reason));
    } catch {
      // The caller throws the reason.
    }
  }

  /** What went wrong here is told, whatever becomes of rank 0. A line is added at once, so lines do not mix. */
  #appendFailure(lines: string): void {
    const line = `${new Date().toISOString()} error rank ${this.#rank}: ${lines}\n`;
    try {
      appendFileSync(this.file('log.txt'), line);
    } catch {
      // The run ends with its own reason anyway.
    }
  }

  /** A line of metrics.jsonl, with the time. */
  record(fields: MetricsRecord): void {
    if (!this.#owner) return;
    this.#write(this.#metrics, 'metrics.jsonl', jsonLine({ time: new Date().toISOString(), ...fields }));
  }

  #write(file: number, name: string, text: string): void {
    try {
      writeSync(file, text);
    } catch (error) {
      throw storageError('write', this.file(name), error);
    }
  }

  /** Every line of metrics.jsonl. */
  readMetrics(): MetricsRecord[] {
    return readRecords(this.file('metrics.jsonl'));
  }

  /** Drops the records that do not hold any more: a resumed run makes those after its checkpoint again. */
  async keepMetrics(keep: (record: MetricsRecord) => boolean): Promise<void> {
    if (!this.#owner) return;
    const lines = this.readMetrics().filter(keep).map(jsonLine);
    closeSync(this.#metrics);
    await writeFileAtomic(this.file('metrics.jsonl'), new TextEncoder().encode(lines.join('')));
    this.#metrics = openSync(this.file('metrics.jsonl'), 'a');
  }

  /** Marks the run as finished, with its outcome. */
  async finish(outcome: MetricsRecord): Promise<void> {
    if (!this.#owner) return;
    await writeFileAtomic(this.file('done.json'), new TextEncoder().encode(jsonLine(outcome)));
  }

  /** Closes the files; the directory may then be opened again. */
  close(): void {
    this.#comm?.journal(null);
    if (this.#log < 0) return;
    closeSync(this.#log);
    closeSync(this.#metrics);
    this.#log = this.#metrics = -1;
    this.#release();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** Removes what a process that was killed has left, here and in the checkpoints; the holder of the lock is the only process. */
function removeTemporary(path: string): void {
  const folders = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const folder of [path, ...folders.map(({ name }) => join(path, name))])
    for (const name of readdirSync(folder).filter(isTemporaryName))
      rmSync(join(folder, name), { recursive: true, force: true });
}

/** Two processes would write over each other's checkpoints. */
function lockRun(path: string): () => void {
  const lock = join(path, 'run.lock');
  return lockForProcess(
    lock,
    (pid) =>
      new StateError(
        `run: expected a directory that no process works in, got ${path} of process ${pid}. Wait for it, or choose another storage.model_dir.`,
        { path: lock },
      ),
  ).release;
}

/** Text with a last line that tells whether it is whole: a configuration that lost keys would fall back on defaults. */
function sealed(text: string): string {
  return `${text}${sealMark}${crc32(text).toString(16).padStart(8, '0')}\n`;
}

const sealMark = '# Checksum of the lines above: ';

/** Refuses a run's full_config.yaml that is not as it was written. */
export function checkRunConfig(path: string): void {
  const text = readFileSync(path, 'utf8');
  const at = text.lastIndexOf(sealMark);
  if (at >= 0 && sealed(text.slice(0, at)) === text) return;
  throw new FormatError(
    `${path}: expected the configuration as the run wrote it, got one that was changed or cut. Give changes as --section.key=value; config.yaml beside it has what the run was started with.`,
    { path },
  );
}

/** Makes the first <dataset_dir>/model_<i> that is not there; two processes at once get two. */
function firstFree(datasetDir: string): string {
  const parent = resolve(datasetDir);
  makeFolder(parent);
  for (let i = 0; i < 100_000; i++) {
    const path = join(parent, `model_${i}`);
    if (existsSync(path)) continue;
    try {
      mkdirSync(path);
      return path;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') continue;
      throw new StorageError(
        `run: expected a directory that can be written for storage.model_dir, got ${path} (${code}). Set storage.model_dir.`,
        { path },
      );
    }
  }
  throw new StateError(`run: expected a free model_<i> in ${parent}, got none. Set storage.model_dir.`);
}

function checkUsable(path: string, resume: boolean): void {
  if (!existsSync(path)) {
    if (resume)
      throw new StateError(
        `run: expected the directory of a run for storage.model_dir, got ${path}, which is not there. Train without resuming first.`,
      );
    return;
  }
  if (!statSync(path).isDirectory())
    throw new StorageError(
      `run: expected a directory for storage.model_dir, got the file ${path}. Choose another.`,
      { path },
    );
  const entries = readdirSync(path);
  const isRun = entries.includes('full_config.yaml');
  if (resume) {
    if (isRun) return;
    throw new StateError(
      `run: expected a run to resume in ${path}, got none: it has no full_config.yaml. Train without resuming first.`,
    );
  }
  // A run that ended before its first checkpoint has nothing to resume from: another may take its place.
  const unsaved = isRun && checkpointNames(path).length === 0;
  const own = unsaved ? [...ownFiles, ...scratch] : ownFiles;
  // A run that was killed in its first moments leaves a temporary file.
  const foreign = entries.filter((name) => !own.includes(name) && !isTemporaryName(name));
  if (entries.includes('done.json') || (isRun && foreign.length > 0))
    throw new StateError(
      `run: expected a new directory for storage.model_dir, got ${path}, which has a ${entries.includes('done.json') ? 'finished' : 'started'} run. Choose another, remove it, or set training.resume_training: true.`,
    );
  if (!isRun && foreign.length > 0)
    throw new StateError(
      `run: expected an empty directory for storage.model_dir, got ${path} with ${basename(foreign[0])} in it. Choose another.`,
    );
}
