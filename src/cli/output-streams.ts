/**
 * What happens when stdout or stderr cannot be written any more.
 *
 * A reader that has gone away (`| head`) is no failure. Commands that exist to print (`info`, `query`, `eval`, …) end at
 * once with code 0, as nobody listens. Commands that leave something behind (`train`, `preprocess`, `export`, …) finish
 * their work in silence: a log reader that dies must not take the training with it.
 *
 * Any other error (a full disk) is told once on stderr; the command finishes and its exit code is 1.
 */

/** Commands whose work outlives their output. */
const worksOn = new Set('build export partition predict preprocess quickstart run serve train'.split(' '));

/** The reader is gone: a closed pipe, or a terminal that was hung up. */
const closed = new Set(['EPIPE', 'EIO', 'ECONNRESET', 'ERR_STREAM_DESTROYED']);

let failed = false;

/** Handles errors of both streams for a command of that name. */
export function guardStreams(command: string | undefined): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (closed.has(error.code ?? '')) {
      if (!worksOn.has(command ?? '')) process.exit(process.exitCode ?? 0);
      return;
    }
    if (!failed) {
      const { code } = error;
      const why =
        code === 'ENOSPC' ? 'The disk is full; free some space.' : 'What was printed is not complete.';
      process.stderr.write(`skein: write: expected to write standard output, got ${code}. ${why}\n`);
    }
    failed = true;
    process.exitCode ||= 1;
  });
  // There is nowhere left to say it.
  process.stderr.on('error', () => {});
}

/** The exit code of a command that ended with `code`: output that was lost is a failure. */
export function withLostOutput(code: number): number {
  return code === 0 && failed ? 1 : code;
}
