/**
 * The command line: parses, calls the command, turns errors into exit codes: 0 done, 2 bad input, 1 failure. With
 * `--json` an error is also an event on stdout, so that a reader of events always sees how the run ended.
 */
import { Command, CommanderError } from 'commander';
import { jsonLine } from '../train/run/output.js';
import { DeviceError, SkeinError } from '../util/errors.js';
import { commands } from './commands/index.js';
import { rewriteOverrides, rewriteSnakeCase } from './options.js';
import { version } from './version.js';

function buildProgram(): Command {
  const program = new Command('skein')
    .description('Graph learning for TypeScript.')
    .version(version)
    .exitOverride()
    // Lets `run` leave the options of the command it runs alone.
    .enablePositionalOptions()
    .showHelpAfterError('(skein --help shows what there is)');
  for (const register of commands) register(program);
  return program;
}

/** Runs one command line (without `node` and the script) and gives the exit code. */
export async function run(args: readonly string[]): Promise<number> {
  const program = buildProgram();
  const command = program.commands.find((known) => known.name() === args[0]);
  try {
    await program.parseAsync(rewriteOverrides(command, rewriteSnakeCase(command, args)), { from: 'user' });
    return typeof process.exitCode === 'number' ? process.exitCode : 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    return report(error, args.includes('--json'));
  }
}

function report(error: unknown, json: boolean): number {
  const known = isKnown(error);
  const full = error instanceof Error ? error.message : String(error);
  // Some messages quote their input; a line of megabytes helps nobody.
  const message = full.length > 4000 ? `${full.slice(0, 4000)} … (${full.length} characters)` : full;
  const text = known ? message : error instanceof Error ? (error.stack ?? message) : message;
  if (json) {
    const fields = error instanceof SkeinError ? { code: error.code, ...error.details } : {};
    process.stdout.write(jsonLine({ event: 'error', message, ...fields }));
  }
  process.stderr.write(`skein: ${text}\n`);
  // A device that was lost, or full, is no mistake in what was asked for; one that is not there is.
  if (error instanceof DeviceError) return error.details.reason === 'no-adapter' ? 2 : 1;
  return error instanceof SkeinError && known ? 2 : 1;
}

/** Errors whose message says all: ours, and those of the file system. */
function isKnown(error: unknown): boolean {
  if (error instanceof SkeinError) return error.code !== 'SKEIN_INTERNAL';
  return error instanceof Error && 'syscall' in error && 'path' in error;
}

/** Runs a command line as this process: sets its exit code. */
export async function main(args: readonly string[]): Promise<void> {
  // A reader that has seen enough (`| head`) is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  process.exitCode = await run(args);
}
