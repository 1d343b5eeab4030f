/**
 * The command line: parses, calls the command, turns errors into exit codes: 0 done, 2 bad input, 1 failure. With
 * `--json` an error is also an event on stdout, so that a reader of events always sees how the run ended.
 */
import { Command, CommanderError } from 'commander';
import { fromSystem, isMachineTrouble, isSystemError } from '../storage/atomic-file.js';
import { jsonLine } from '../train/run/output.js';
import { StatusLine } from '../train/run/status-line.js';
import { hasColors, paint } from '../train/run/terminal.js';
import { DeviceError, SkeinError } from '../util/errors.js';
import { commands } from './commands/index.js';
import { rewriteOverrides, rewriteSnakeCase } from './options.js';
import { guardStreams, withLostOutput } from './output-streams.js';
import { withOwnExamples } from './own-examples.js';
import { version } from './version.js';
import { wrongUse } from './wrong-use.js';

function buildProgram(): Command {
  const program = new Command('skein')
    .description('Graph learning for TypeScript.')
    .version(version)
    .exitOverride()
    // Lets `run` leave the options of the command it runs alone.
    .enablePositionalOptions()
    // Errors are reported as all others are, by `report`.
    .configureOutput({ outputError: () => undefined });
  for (const register of commands) register(program);
  return program;
}

/** Runs one command line (without `node` and the script) and gives the exit code. */
export async function run(args: readonly string[]): Promise<number> {
  const program = buildProgram();
  const command = program.commands.find((known) => known.name() === args[0]);
  try {
    const here = withOwnExamples(args, (text) => process.stderr.write(`note: ${text}\n`));
    await program.parseAsync(rewriteOverrides(command, rewriteSnakeCase(command, here)), { from: 'user' });
    return typeof process.exitCode === 'number' ? process.exitCode : 0;
  } catch (error) {
    // Help, when it is asked for and when nothing is, has been printed.
    if (error instanceof CommanderError && (error.exitCode === 0 || error.code === 'commander.help'))
      return error.exitCode === 0 ? 0 : 2;
    const thrown = error instanceof CommanderError ? await wrongUse(error, command, args) : error;
    return report(thrown, args.includes('--json'));
  }
}

function report(thrown: unknown, json: boolean): number {
  const error = isSystemError(thrown) && hasFile(thrown) ? fromSystem(thrown, 'a file') : thrown;
  const known = isKnown(error);
  const full = error instanceof Error ? error.message : String(error);
  // Some messages quote their input; a line of megabytes helps nobody.
  const message = full.length > 4000 ? `${full.slice(0, 4000)} … (${full.length} characters)` : full;
  const text = known ? message : error instanceof Error ? (error.stack ?? message) : message;
  StatusLine.of(process.stderr).clear();
  if (json) {
    const fields = error instanceof SkeinError ? { code: error.code, ...error.details } : {};
    process.stdout.write(jsonLine({ event: 'error', message, ...fields }));
  }
  process.stderr.write(`${paint('skein:', 'red', hasColors(process.stderr))} ${text}\n`);
  return known ? exitCode(error) : 1;
}

/** 2: what was asked for cannot be done. 1: it could have been, but for a full disk, a lost device or a compiler. */
function exitCode(error: unknown): number {
  if (error instanceof DeviceError) return error.details.reason === 'no-adapter' ? 2 : 1;
  if (error instanceof SkeinError && error.code === 'SKEIN_BUILD') return 1;
  return error instanceof SkeinError && !isMachineTrouble(error) ? 2 : 1;
}

/** Errors whose message says all: ours, and those of the operating system. */
function isKnown(error: unknown): boolean {
  if (error instanceof SkeinError) return error.code !== 'SKEIN_INTERNAL';
  return isSystemError(error);
}

/** Others are about the network or a process: their own message is as good as any. */
function hasFile({ path, syscall = '' }: NodeJS.ErrnoException): boolean {
  return (path !== undefined && !syscall.startsWith('spawn')) || ['write', 'read', 'fsync'].includes(syscall);
}

/** Runs a command line as this process: sets its exit code. */
export async function main(args: readonly string[]): Promise<void> {
  guardStreams(args[0]);
  process.once('exit', () => StatusLine.of(process.stderr).clear());
  process.exitCode = withLostOutput(await run(args));
}
