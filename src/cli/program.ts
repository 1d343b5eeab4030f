/**
 * The command line: parses it, calls the command, and turns errors into exit codes: 0 done, 2 bad input, 1 failure. With
 * `--json` an error is also an event on stdout, so the events always state how the command ended.
 */
import { Command, CommanderError, type Option } from 'commander';
import { fromSystem, isMachineTrouble, isSystemError } from '../storage/atomic-file.js';
import { jsonLine } from '../train/run/output.js';
import { StatusLine } from '../train/run/status-line.js';
import { hasColors, paint } from '../train/run/terminal.js';
import { DeviceError, SkeinError } from '../util/errors.js';
import { commands } from './commands/index.js';
import { rewriteExamplePaths, rewriteOverrides, rewriteSnakeCase } from './options/rewrite-args.js';
import { toUsageError } from './options/usage-error.js';
import { failOnLostOutput, guardStreams } from './output-streams.js';
import { version } from './version.js';

function buildProgram(): Command {
  const program = new Command('skein')
    .description('Graph learning for TypeScript.')
    .version(version, '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Show this help')
    .helpCommand('help [command]', 'Show the help of a command')
    .configureHelp({ optionDescription: describeOption })
    .exitOverride()
    // Lets `run` pass on the options of the command that it runs.
    .enablePositionalOptions()
    // `report` prints the errors of commander too.
    .configureOutput({ outputError: () => undefined });
  for (const register of commands) register(program);
  return program;
}

/** Appends the default unless it is false, empty or described in the text. */
function describeOption({ description, defaultValue }: Option): string {
  const isShown =
    typeof defaultValue === 'number' || (typeof defaultValue === 'string' && defaultValue !== '');
  return isShown ? `${description} (default: ${JSON.stringify(defaultValue)})` : description;
}

/** Runs one command line (without `node` and the script) and returns the exit code. */
export async function run(args: readonly string[]): Promise<number> {
  const program = buildProgram();
  const command = program.commands.find((known) => known.name() === args[0]);
  try {
    const local = rewriteExamplePaths(args, (text) => process.stderr.write(`note: ${text}\n`));
    await program.parseAsync(rewriteOverrides(command, rewriteSnakeCase(command, local)), { from: 'user' });
    return typeof process.exitCode === 'number' ? process.exitCode : 0;
  } catch (error) {
    // Commander has printed the help: on request, or because no command was given.
    if (error instanceof CommanderError && (error.exitCode === 0 || error.code === 'commander.help'))
      return error.exitCode === 0 ? 0 : 2;
    const thrown = error instanceof CommanderError ? await toUsageError(error, command, args) : error;
    return report(thrown, args.includes('--json'));
  }
}

function report(thrown: unknown, json: boolean): number {
  const error = isSystemError(thrown) && hasFile(thrown) ? fromSystem(thrown, 'a file') : thrown;
  const known = isKnown(error);
  const full = error instanceof Error ? error.message : String(error);
  // Some messages quote their input, which may be megabytes long.
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

/** Returns 2 for a request that cannot be carried out, 1 for a failure such as a full disk, a lost device or a compiler error. */
function exitCode(error: unknown): number {
  if (error instanceof DeviceError) return error.details.reason === 'no-adapter' ? 2 : 1;
  if (error instanceof SkeinError && error.code === 'SKEIN_BUILD') return 1;
  return error instanceof SkeinError && !isMachineTrouble(error) ? 2 : 1;
}

/** Returns whether the message suffices without a stack: for our errors and those of the operating system. */
function isKnown(error: unknown): boolean {
  if (error instanceof SkeinError) return error.code !== 'SKEIN_INTERNAL';
  return isSystemError(error);
}

/** Returns whether a system error concerns a file, rather than the network or a process. */
function hasFile({ path, syscall = '' }: NodeJS.ErrnoException): boolean {
  return (path !== undefined && !syscall.startsWith('spawn')) || ['write', 'read', 'fsync'].includes(syscall);
}

/** Runs a command line and sets the exit code of this process. */
export async function main(args: readonly string[]): Promise<void> {
  guardStreams(args[0]);
  process.once('exit', () => StatusLine.of(process.stderr).clear());
  process.exitCode = failOnLostOutput(await run(args));
}
