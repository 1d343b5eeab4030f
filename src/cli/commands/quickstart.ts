/** `skein quickstart`: see ../quickstart.ts. */
import type { Command } from 'commander';
import { jsonOption, seedOption } from '../options.js';
import type { QuickstartOptions } from '../quickstart.js';

export function register(program: Command): void {
  const command = program
    .command('quickstart')
    .description('learn WordNet in a minute or two and show what was learned')
    .option('--fast', 'a model too small to be good, in seconds', false);
  jsonOption(seedOption(command)).action(async (options: QuickstartOptions) =>
    (await import('../quickstart.js')).quickstart(options),
  );
}
