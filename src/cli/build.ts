/**
 * The work of `skein build`: compiles the addon from the package's own native/ folder, for the processor it runs on, and
 * mpi.node for the MPI library that is installed. What compiles is scripts/build-addon.mjs, which a clone's set-up uses too.
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

/** What scripts/build-addon.mjs exports. */
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
  if (builder.hasMpi()) await buildPart(builder, { target: 'mpi', levels: [] }, 'the MPI addon', output);
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
  await buildPart(builder, { target: 'all', ...levels }, 'the kernels', output, files);
}

/** `files`: how many a build from nothing compiles; what is up to date already is not compiled again. */
async function buildPart(
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

/** A compiler that failed or is not there is no mistake in what was asked for: the exit code is 1. */
class BuildError extends SkeinError {
  readonly code = 'SKEIN_BUILD';
}

async function loadScript(): Promise<BuildScript> {
  // By a variable: the compiler would look for types of a script that has none.
  const { href } = new URL('../../scripts/build-addon.mjs', import.meta.url);
  return (await import(href)) as BuildScript;
}
