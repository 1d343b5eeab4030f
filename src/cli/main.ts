#!/usr/bin/env node
/**
 * The `skein` command. Each command has a file of its own that does the work; this one parses, and turns errors into
 * exit codes: 0 done, 2 bad input, 1 failure.
 */
import { readFileSync } from 'node:fs';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { SkeinError } from '../util/errors.js';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

function wholeNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < 0)
    throw new InvalidArgumentError('Expected a whole number of at least 0.');
  return value;
}

const program = new Command('skein')
  .description('Graph learning for TypeScript.')
  .version(version)
  .exitOverride()
  .showHelpAfterError('(skein --help shows what there is)');

program
  .command('quickstart')
  .description('train a small network on a small graph and show what it learned')
  .option('--seed <n>', 'seed of the random numbers', wholeNumber, 1)
  .option('--json', 'print one JSON object a line on stdout, text on stderr', false)
  // Loaded when asked for, so that a wrong environment variable is one line here and not a stack trace.
  .action(async (options: { seed: number; json: boolean }) =>
    (await import('./quickstart.js')).quickstart(options),
  );

program
  .command('info')
  .description('show the version, the kernels in use and why')
  .option('--json', 'print one JSON object', false)
  .action(async (options: { json: boolean }) => (await import('./info.js')).info(version, options.json));

// A reader that has seen enough (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else if (error instanceof SkeinError && error.code !== 'SKEIN_INTERNAL') {
    process.stderr.write(`skein: ${error.message}\n`);
    process.exitCode = 2;
  } else {
    process.stderr.write(
      `skein: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exitCode = 1;
  }
}
