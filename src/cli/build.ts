/**
 * The work of `skein build`: compiles the addon from the package's native/ folder for this processor, and mpi.node for the
 * installed MPI library. It uses scripts/build-addon.mjs, as the set-up of a clone does.
 */
import { Output } from '../train/run/output.js';
import { SkeinError } from '../util/errors.js';
import { installCommand } from './doctor/install-commands.js';

export interface BuildCommand {
  readonly mpi: boolean;
  readonly allLevels: boolean;
  readonly json: boolean;
}

interface BuildResult {
  readonly status: 'built' | 'skipped' | 'failed';
  readonly reason: string;
}

/** The exports of scripts/build-addon.mjs. */
export interface BuildScript {
  readonly allLevels: readonly string[];
  buildAddonWatched(options: {
    readonly target: string;
    readonly levels?: readonly string[];
    readonly onFile: (file: string) => void;
  }): Promise<BuildResult>;
  countSources(): number;
  hasMpi(): boolean;
  missingTools(): readonly string[];
}

export async function buildCommand(command: BuildCommand, script?: BuildScript): Promise<void> {
  const output = new Output({ json: command.json });
  const builder = script ?? (await loadScript());
  const missing = builder.missingTools();
  if (missing.length > 0)
    throw new BuildError(
      `build: expected make and a C++17 compiler, got a machine without ${missing.join(' and ')}. Install them with: ${installCommand('compiler')}`,
    );
  if (command.mpi && !builder.hasMpi())
    throw new BuildError(
      `build: expected an MPI library with its compiler wrapper mpicc, got none. Install one with: ${installCommand('mpi')}`,
    );
  if (!command.mpi) await buildKernels(builder, command, output);
  if (builder.hasMpi()) await buildTarget(builder, { target: 'mpi', levels: [] }, 'the MPI addon', output);
  output.event('done', { seconds: output.seconds });
  output.doneIn();
}

async function buildKernels(
  builder: BuildScript,
  { allLevels }: BuildCommand,
  output: Output,
): Promise<void> {
  const levels = allLevels ? { levels: builder.allLevels } : {};
  const files = builder.countSources() * (allLevels ? builder.allLevels.length : 1);
  await buildTarget(builder, { target: 'all', ...levels }, 'the kernels', output, files);
}

/** `files`: number of files of a full build; files that are up to date are not compiled again. */
async function buildTarget(
  builder: BuildScript,
  options: { readonly target: string; readonly levels?: readonly string[] },
  what: string,
  output: Output,
  files = 0,
): Promise<void> {
  const stage = output.stage(`compiling ${what}`);
  let done = 0;
  const { status, reason } = await builder.buildAddonWatched({
    ...options,
    onFile: (file) => {
      done++;
      const count = files === 0 ? String(done) : `${done} of ${Math.max(done, files)}`;
      if (output.status.isShown) stage.update(done, Math.max(done, files));
      else output.note(`  ${count}  ${file}`);
      output.event('compile', { file, done, total: Math.max(done, files) });
    },
  });
  stage.end();
  if (status !== 'built') throw new BuildError(`build: ${what} could not be compiled: ${reason}`);
  output.text(
    done === 0 ? `${what}: up to date` : `${what}: compiled ${done} ${done === 1 ? 'file' : 'files'}`,
  );
  output.event('built', { what, files: done });
}

/** A missing or failed compiler is not a usage error: the exit code is 1. */
class BuildError extends SkeinError {
  readonly code = 'SKEIN_BUILD';
}

async function loadScript(): Promise<BuildScript> {
  // A computed path, because TypeScript would look for the types of the script, which has none.
  const { href } = new URL('../../scripts/build-addon.mjs', import.meta.url);
  return (await import(href)) as BuildScript;
}
