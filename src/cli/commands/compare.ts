/** `skein compare`: see ../compare.ts. */
import type { Command } from 'commander';
import { type JsonOptions, jsonOption } from '../options/options.js';

export function register(program: Command): void {
  const command = program
    .command('compare')
    .description('Compare runs: metrics side by side, and the keys in which their configurations differ')
    .argument('<run...>', 'Directories of runs, at least two');
  jsonOption(command)
    .addHelpText(
      'after',
      `
Examples:
  skein compare runs/first runs/second
  skein plot runs/first runs/second            their curves in one picture`,
    )
    .action(async (paths: string[], options: JsonOptions) =>
      (await import('../compare.js')).compareCommand(paths, options),
    );
}
