/** `skein recommend`: see ../recommend.ts. */
import type { Command } from 'commander';
import { jsonOption, overrideOption, pluginOption, positiveInteger } from '../options/options.js';
import type { RecommendCommand } from '../recommend.js';

export function register(program: Command): void {
  const command = program
    .command('recommend')
    .description('Write the best items for all users, or for those of a file, to a CSV file')
    .argument(
      '<run|config>',
      'Directory of a run or a checkpoint, a packed model (.tgz), or the configuration it was trained with',
    )
    .option('--users <file|all>', 'File with one id per line, or all sources of training edges', 'all')
    .option('--top, --k <n>', 'Number of items per user', positiveInteger, 10)
    .option('--relation <name>', 'Raw name of the relation, if edges have several')
    .option('--time <time>', 'Time of an event stream (default: just after its last event)')
    .option('--include-known', 'Include items that the user already has', false)
    .option('--skip-unknown', 'Skip ids of the file that the model does not know', false)
    .option(
      '-o, --output <file>',
      'CSV file to write: user,rank,item,score, and probability if the model is calibrated',
      'recommendations.csv',
    )
    .option('--overwrite', 'Replace the file', false);
  overrideOption(jsonOption(pluginOption(command))).action(
    async (path: string, options: RecommendCommand) => {
      const { removingUnfinished } = await import('../stop-signals.js');
      const { recommendCommand } = await import('../recommend.js');
      await removingUnfinished(() => recommendCommand(path, options));
    },
  );
}
