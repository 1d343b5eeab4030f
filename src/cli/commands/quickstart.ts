/** `skein quickstart`: see ../quickstart/quickstart.ts. */
import type { Command } from 'commander';
import { jsonOption, seedOption } from '../options/options.js';
import type { QuickstartOptions } from '../quickstart/quickstart.js';

export function register(program: Command): void {
  const command = program
    .command('quickstart')
    .description('Train a model of WordNet in a minute or two and show what it learned')
    .option('--fast', 'Train a small, inaccurate model in seconds', false);
  jsonOption(seedOption(command)).action(async (options: QuickstartOptions) =>
    (await import('../quickstart/quickstart.js')).quickstart(options),
  );
}
