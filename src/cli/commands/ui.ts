/** `skein ui`: see ../ui.ts. */
import type { Command } from 'commander';
import { jsonOption, pluginOption, wholeNumber } from '../options/options.js';
import type { UiCommand } from '../ui.js';

export function register(program: Command): void {
  const command = program
    .command('ui')
    .description('Show runs in a browser: curves, maps, neighbourhoods, questions and data')
    .argument('[path...]', 'Runs, or folders with runs (default: the current folder)')
    .option(
      '--host <address>',
      'Address to listen on; others than loopback make a link with a code',
      '127.0.0.1',
    )
    .option('--port <n>', 'Port to listen on; 0 takes any free port', wholeNumber, 8088)
    .option(
      '--token-file <file>',
      'File with the token that programs must bring, and for which a link opens the page; default: the variable SKEIN_TOKEN',
    )
    .option('--base-path <path>', 'Path below which a proxy shows the page, such as /skein', '');
  jsonOption(pluginOption(command))
    .addHelpText(
      'after',
      `
Examples:
  skein ui                        all runs below the current folder, also those that are being trained
  skein ui runs/first runs/second
  ssh -L 8088:127.0.0.1:8088 host "skein ui runs"    the page of another machine`,
    )
    .action(async (paths: string[], options: UiCommand) =>
      (await import('../ui.js')).uiCommand(paths, options),
    );
}
