/**
 * Handles stdout and stderr that can no longer be written.
 *
 * A closed pipe (`| head`) is not a failure. Commands that only print (`info`, `query`, `eval`, …) end immediately with
 * code 0. Commands that write files or serve (`train`, `preprocess`, `export`, …) finish without output: training must
 * not end because a log reader died.
 *
 * Any other error (a full disk) is reported once on stderr; the command finishes and its exit code is 1.
 */

/** Commands that continue without a reader. */
const continuing = new Set(
  'build demo export mcp partition predict preprocess quickstart run serve train'.split(' '),
);

/** Error codes of a closed pipe or terminal. */
const closedCodes = new Set(['EPIPE', 'EIO', 'ECONNRESET', 'ERR_STREAM_DESTROYED']);

let failed = false;

/** Installs the error handlers of both streams for the command of that name. */
export function guardStreams(command: string | undefined): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (closedCodes.has(error.code ?? '')) {
      if (!continuing.has(command ?? '')) process.exit(process.exitCode ?? 0);
      return;
    }
    if (!failed) {
      const { code } = error;
      const why = code === 'ENOSPC' ? 'The disk is full; free some space.' : 'The output is incomplete.';
      process.stderr.write(`skein: write: expected to write standard output, got ${code}. ${why}\n`);
    }
    failed = true;
    process.exitCode ||= 1;
  });
  // An error of stderr cannot be reported anywhere.
  process.stderr.on('error', () => {});
}

/** Returns the exit code of a command that ended with `code`: lost output is a failure. */
export function failOnLostOutput(code: number): number {
  return code === 0 && failed ? 1 : code;
}
