/** `skein quickstart`: see ../quickstart.ts. */
import type { Command } from 'commander';
import { type JsonOptions, jsonOption, type SeedOptions, seedOption } from '../options.js';

export function register(program: Command): void {
  const command = program
    .command('quickstart')
    .description('train a small network on a small graph and show what it learned');
  jsonOption(seedOption(command)).action(async (options: SeedOptions & JsonOptions) =>
    (await import('../quickstart.js')).quickstart(options),
  );
}
