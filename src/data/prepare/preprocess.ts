/**
 * `preprocess`: turns edges from files or SQL into a prepared directory, out of core, in a separate process, so that its
 * memory and crashes do not affect the caller.
 *
 * The name table gets an eighth of the memory limit before it spills to files, because it doubles as it grows. DuckDB, which
 * reads Parquet, JSON and SQL, gets half and spills to the temporary folder; the rest is for buffers, Node.js and kernels.
 */
import { fork } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { temporaryName } from '../../storage/temporary-name.js';
import * as errors from '../../util/errors.js';
import { lazyDuckDb } from '../formats/duckdb.js';
import { TableFiles } from '../formats/table-files.js';
import type { PreparedStats } from './dataset-yaml.js';
import { readGraph } from './graph-input.js';
import type { OnNote, OnPrepareProgress, PrepareProgress } from './graph-source.js';
import { buildFolder, checkTarget } from './output-folder.js';
import { checkPreprocessOptions, type PreprocessOptions, withDefaultSplit } from './preprocess-options.js';
import { textInput } from './text-input.js';
import { writePrepared } from './write-prepared.js';

export type { PreprocessOptions } from './preprocess-options.js';

/** The task of the child process. */
export interface PreprocessTask {
  readonly options: PreprocessOptions;
  readonly temporary: string;
}

/** A message of the child process. */
export type PreprocessMessage =
  | { readonly progress: PrepareProgress }
  | { readonly note: string }
  | { readonly stats: PreparedStats; readonly peakRssBytes: number }
  | { readonly error: { name: string; message: string; details: Record<string, unknown>; stack: string } };

/** The counts of the prepared graph, and the peak memory of the process. */
export type PreprocessResult = PreparedStats & { readonly peakRssBytes: number };

const where = 'preprocess';
const defaultMemory = 2 ** 30;

/** An AbortSignal, declared here so that programs do not need the types of the DOM or of Node.js. */
export interface CancelSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

export interface PreprocessContext {
  readonly signal?: CancelSignal;
  /** Receives notes about decisions on the input: headers, node types, unused columns. */
  readonly onNote?: OnNote;
}

/**
 * Prepares a graph. A `signal` stops the process immediately; the output directory is then unchanged.
 *
 * @example
 * await preprocess({ edges: 'facts.tsv', source: 0, edgeType: 1, target: 2, split: [0.9, 0.05, 0.05], outputDir: 'facts' });
 */
export async function preprocess(
  options: PreprocessOptions,
  progress: OnPrepareProgress = () => {},
  { signal, onNote = () => {} }: PreprocessContext = {},
): Promise<PreprocessResult> {
  checkPreprocessOptions(options);
  checkTarget(where, options.outputDir, options.overwrite ?? false);
  const temporary = temporaryName(options.outputDir);
  if (options.inProcess) {
    const stats = await preprocessHere({ options, temporary }, progress, onNote);
    return { ...stats, peakRssBytes: peakRss() };
  }
  try {
    return await runChild({ options, temporary }, progress, onNote, signal);
  } finally {
    // The process cleans up unless it was killed.
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Prepares a graph in this process. */
export async function preprocessHere(
  { options: given, temporary }: PreprocessTask,
  progress: OnPrepareProgress,
  note: OnNote,
): Promise<PreparedStats> {
  const options = withDefaultSplit(given);
  if (options !== given)
    note(
      'nodes with a class are split into 0.6 training, 0.2 validation, 0.2 test (--node-split to override)',
    );
  const memory = options.memoryLimit ?? defaultMemory;
  return buildFolder(
    temporary,
    { where, outputDir: options.outputDir, overwrite: options.overwrite ?? false },
    async (folder) => {
      const work = join(folder, 'work');
      await mkdir(work);
      const settings = {
        memory_limit: `${Math.floor(memory / 2 ** 21)}MiB`,
        temp_directory: join(work, 'spill'),
        ...(options.setup === undefined ? {} : { autoload_known_extensions: 'true' }),
        ...(options.threads === undefined ? {} : { threads: String(options.threads) }),
      };
      const database = lazyDuckDb(where, settings, options.setup);
      try {
        if (options.setup !== undefined) await database.connect();
        const tables = new TableFiles(work, database.connect);
        const context = {
          ...{ folder: work, nameBytes: memory / 8, progress },
          note: (text: string) => note(tables.rename(text)),
        };
        const source = await tables.run(async () => {
          const input = await textInput(options, tables);
          await database.close();
          return readGraph(input, context);
        });
        return await writePrepared(
          source,
          folder,
          {
            ...{ where, outputDir: options.outputDir, seed: options.seed ?? 1, memoryBytes: memory / 8 },
            partitions: options.partitions ?? 1,
            partitionedEval: options.partitionedEval ?? false,
            remap: !(options.noRemapIds ?? false),
            sequentialTrainNodes: options.sequentialTrainNodes ?? false,
            split: options.split ?? null,
          },
          progress,
        );
      } finally {
        await database.close();
        await rm(work, { recursive: true, force: true });
      }
    },
  );
}

/** Returns the peak memory of this process. */
export function peakRss(): number {
  return process.resourceUsage().maxRSS * 1024;
}

function runChild(
  task: PreprocessTask,
  progress: OnPrepareProgress,
  note: OnNote,
  signal: CancelSignal | undefined,
): Promise<PreprocessResult> {
  const source = import.meta.url.endsWith('.ts');
  const entry = fileURLToPath(new URL(`./preprocess-child.${source ? 'ts' : 'js'}`, import.meta.url));
  // TypeScript sources need a loader.
  const loader = source
    ? ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href]
    : [];
  const child = fork(entry, [], {
    execArgv: loader,
    serialization: 'advanced',
    // With fewer arenas of the C library, memory freed by one thread is reused by others.
    env: { ...process.env, MALLOC_ARENA_MAX: '2' },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  return new Promise((resolvePromise, reject) => {
    let answer: PreprocessMessage | null = null;
    let text = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(-4000);
    });
    child.on('message', (message: PreprocessMessage) => {
      if ('progress' in message) progress(message.progress);
      else if ('note' in message) note(message.note);
      else answer = message;
    });
    // Its files are discarded, so it need not end in order.
    const stop = (): boolean => child.kill('SIGKILL');
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
    child.on('error', reject);
    child.on('close', (code, killed) => {
      signal?.removeEventListener('abort', stop);
      if (answer !== null && 'stats' in answer)
        resolvePromise({ ...answer.stats, peakRssBytes: answer.peakRssBytes });
      else if (answer !== null && 'error' in answer) reject(revive(answer.error));
      else if (signal?.aborted)
        reject(new errors.StateError('preprocess: cancelled; the output directory is unchanged.'));
      else reject(exitError(code, killed, text));
    });
    child.send(task);
  });
}

function exitError(code: number | null, signal: string | null, text: string): errors.StateError {
  const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
  const advice =
    signal === 'SIGKILL'
      ? 'The system may be out of memory: lower memoryLimit.'
      : text.trim().split('\n').slice(-5).join(' ');
  return new errors.StateError(`preprocess: expected the child process to finish, got ${how}. ${advice}`, {
    code,
    signal,
  });
}

const classes: Readonly<Record<string, new (message: string, details?: Record<string, unknown>) => Error>> = {
  ValueError: errors.ValueError,
  FormatError: errors.FormatError,
  StorageError: errors.StorageError,
  StateError: errors.StateError,
  ShapeError: errors.ShapeError,
};

/** Recreates an error of the child process. */
function revive(error: {
  name: string;
  message: string;
  details: Record<string, unknown>;
  stack: string;
}): Error {
  const known = classes[error.name];
  if (known !== undefined) return new known(error.message, error.details);
  const plain = new Error(error.message);
  plain.stack = error.stack;
  return plain;
}
