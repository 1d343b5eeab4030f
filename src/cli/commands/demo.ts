/** `skein demo`: see ../demo/demo.ts. */
import type { Command } from 'commander';
import type { DemoOptions } from '../demo/demo.js';
import { jsonOption, seedOption, wholeNumber } from '../options/options.js';

export function register(program: Command): void {
  const command = program
    .command('demo')
    .description('Find the hidden members of a fraud ring, and show them in a browser; needs no data')
    .option('--no-open', 'Print the link of the page without opening the browser')
    .option('--port <n>', 'Port of the page; another one is taken if it is in use', wholeNumber, 8088);
  jsonOption(seedOption(command)).action(async (options: DemoOptions) =>
    (await import('../demo/demo.js')).demo(options),
  );
}
