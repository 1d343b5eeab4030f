/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The directory of one training run (Marius's model_dir): `config.yaml` as given, `full_config.yaml` as resolved,
 * `metrics.jsonl`, `log.txt`, the model and its checkpoints, and `done.json` once it is finished.
 *
 * Nothing is written outside it. A finished run, and one with checkpoints, is reopened only to resume; a directory that is
 * not a run is left alone. One process at a time works in it. The configuration of a resumed run is replaced only after its
 * checkpoint has been checked: see `writeConfig`.
 *
 * With several workers rank 0 owns the directory: it alone writes log, metrics and configuration. The others may write
 * separate files into it, and append only their failures to the log.
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
import { renderConfig } from '../config/config-file.js';
import type { SkeinConfig } from '../config/index.js';
import type { LogLevel } from '../config/types.js';
import { bufferFile } from './buffer-file.js';
import { dropTornLine, type MetricsRecord, readRecords } from './metrics-file.js';
import { jsonLine } from './output.js';
import { checkpointNames } from './run-record.js';

export interface RunOptions {
  readonly config: SkeinConfig;
  /** The text of the configuration file, written as `config.yaml`. Default: the resolved configuration. */
  readonly source?: string;
  /** The parent of the directory of a run without model_dir. Default: storage.dataset.dataset_dir. */
  readonly datasetDir?: string;
  /** Resume the run in the directory. Default: training.resume_training. */
  readonly resume?: boolean;
  /** The workers of the run; all of them open it. Default: this process alone. */
  readonly group?: WorkerGroup;
}

/** Settings that the directory takes from a configuration. */
export interface RunSettings {
  /** The path; null: the first free <parent>/model_<i>. */
  readonly directory: string | null;
  readonly parent: string;
  readonly level: LogLevel;
  /** Resume the run in the directory. */
  readonly resume: boolean;
  /** Returns the resolved configuration as text, for the final path. */
  readonly resolved: (path: string) => string;
  /** The text of the configuration file. Default: the resolved configuration. */
  readonly source?: string;
  /** The workers of the run; all of them open it. Default: this process alone. */
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
  bufferFile,
];

/** Folders that a run creates; useless without a checkpoint. */
const scratch = ['table', 'edges', 'partitions', 'dataset'];

export class RunDirectory {
  readonly path: string;
  /** Whether it resumes an earlier run. */
  readonly resumed: boolean;
  readonly #level: number;
  readonly #release: () => void;
  #config: { readonly given: string; readonly resolved: string };
  /** Whether this process writes; other workers do not. */
  readonly #owner: boolean;
  readonly #rank: number;
  /** Writes the reason why a job of several workers ended into log.txt when this process no longer can. */
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
      for (const name of ['metrics.jsonl', 'log.txt', 'done.json', bufferFile])
        rmSync(join(path, name), { force: true });
    this.#log = openSync(join(path, 'log.txt'), 'a');
    dropTornLine(join(path, 'metrics.jsonl'));
    this.#metrics = openSync(join(path, 'metrics.jsonl'), 'a');
  }

  /** Creates or reopens the directory of a configuration; see `openAt`. */
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
   * Creates or reopens a directory for any kind of configuration. A new run gets its configuration immediately; a resumed one
   * keeps its previous configuration until `writeConfig`.
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

  /** Removes folders of the run that no checkpoint refers to. */
  removeScratch(): void {
    if (!this.#owner) return;
    for (const name of scratch) rmSync(this.file(name), { recursive: true, force: true });
  }

  /** Writes the configuration. A resumed run calls this after it has checked that the checkpoint belongs to it. */
  async writeConfig(): Promise<void> {
    if (!this.#owner) return;
    // A resumed run is not finished.
    rmSync(this.file('done.json'), { force: true });
    const text = new TextEncoder();
    await writeFileAtomic(this.file('config.yaml'), text.encode(this.#config.given));
    await writeFileAtomic(this.file('full_config.yaml'), text.encode(appendChecksum(this.#config.resolved)));
  }

  /** Replaces the resolved configuration, when training has determined a value of it. */
  async replaceResolved(resolved: string): Promise<void> {
    this.#config = { ...this.#config, resolved };
    if (!this.#owner) return;
    await writeFileAtomic(
      this.file('full_config.yaml'),
      new TextEncoder().encode(appendChecksum(this.#config.resolved)),
    );
  }

  /** Returns whether the run in `path` is finished. */
  static isFinished(path: string): boolean {
    return existsSync(join(path, 'done.json'));
  }

  /** Returns a path inside the directory; throws for one that would leave it. */
  file(...parts: readonly string[]): string {
    const path = resolve(this.path, ...parts);
    const inside = relative(this.path, path);
    if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
      throw new ValueError(
        `run: expected a path inside ${this.path}, got ${parts.join('/')}. Use a name without "..".`,
      );
    return path;
  }

  /** Writes a line to log.txt unless its level is below storage.log_level. */
  log(level: LogLevel, message: string): void {
    if (levels.indexOf(level) > this.#level) return;
    const lines = message.split('\n').join('\n    ');
    if (!this.#owner) {
      if (level === 'error') this.#appendFailure(lines);
      return;
    }
    this.#write(this.#log, 'log.txt', `${new Date().toISOString()} ${level.padEnd(5)} ${lines}\n`);
  }

  /** Logs the reason why the run ended. A failing log must not hide the reason. */
  logFailure(reason: unknown): void {
    try {
      this.log('error', reason instanceof Error ? reason.message : String(reason));
    } catch {
      // The caller throws the reason.
    }
  }

  /** Appends a failure of this worker to the log, even if rank 0 is gone. One write per line, so that lines do not mix. */
  #appendFailure(lines: string): void {
    const line = `${new Date().toISOString()} error rank ${this.#rank}: ${lines}\n`;
    try {
      appendFileSync(this.file('log.txt'), line);
    } catch {
      // The run ends with its own reason in any case.
    }
  }

  /** Writes a line to metrics.jsonl, with the time. */
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

  /** Reads metrics.jsonl. */
  readMetrics(): MetricsRecord[] {
    return readRecords(this.file('metrics.jsonl'));
  }

  /** Drops records after the checkpoint: the resumed run writes them again. */
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

/** Removes temporary files of a killed process, here and in the checkpoints. Safe because the lock is held. */
function removeTemporary(path: string): void {
  const folders = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const folder of [path, ...folders.map(({ name }) => join(path, name))])
    for (const name of readdirSync(folder).filter(isTemporaryName))
      rmSync(join(folder, name), { recursive: true, force: true });
}

/** Locks the directory: two processes would overwrite each other's checkpoints. */
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

/** Appends a checksum line: a truncated configuration would silently fall back on defaults. */
export function appendChecksum(text: string): string {
  return `${text}${sealMark}${crc32(text).toString(16).padStart(8, '0')}\n`;
}

const sealMark = '# Checksum of the lines above: ';

/** Throws for a full_config.yaml that differs from what the run wrote. */
export function checkRunConfig(path: string): void {
  const text = readFileSync(path, 'utf8');
  const at = text.lastIndexOf(sealMark);
  if (at >= 0 && appendChecksum(text.slice(0, at)) === text) return;
  throw new FormatError(
    `${path}: expected the configuration as the run wrote it, got one that was changed or truncated. Give changes as --section.key=value; config.yaml in the same directory is what the run was started with.`,
    { path },
  );
}

/** Creates the first free <dataset_dir>/model_<i>; concurrent processes get different ones. */
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
        `run: expected the directory of a run for storage.model_dir, got ${path}, which does not exist. Train without resuming first.`,
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
  // A run that ended before its first checkpoint cannot be resumed: another may replace it.
  const unsaved = isRun && checkpointNames(path).length === 0;
  const own = unsaved ? [...ownFiles, ...scratch] : ownFiles;
  // A run killed at its start leaves a temporary file.
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
