/** `skein pack`: see ../pack.ts. */
import type { Command } from 'commander';
import { jsonOption, overrideOption, pluginOption } from '../options/options.js';
import type { PackCommand } from '../pack.js';

export function register(program: Command): void {
  const command = program
    .command('pack')
    .description('Pack a trained model and what it needs of its dataset into one file that opens anywhere')
    .argument('<run|config>', 'Directory of a run or a checkpoint, or the configuration it was trained with')
    .option('-o, --output <file>', 'File to write, which ends in .tgz', 'model.tgz')
    .option('--overwrite', 'Replace the file', false);
  overrideOption(jsonOption(pluginOption(command))).action(async (path: string, options: PackCommand) =>
    (await import('../pack.js')).packCommand(path, options),
  );
}
