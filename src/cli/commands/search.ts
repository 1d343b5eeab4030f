/** `skein search`: see ../search.ts. */
import { type Command, Option } from 'commander';
import {
  jsonOption,
  overrideOption,
  pluginOption,
  positiveInteger,
  wholeNumber,
} from '../options/options.js';
import type { SearchCommand } from '../search.js';

export function register(program: Command): void {
  const command = program
    .command('search')
    .description('Search for good settings of a configuration, by its metric on the validation set')
    .argument(
      '<config|search>',
      'YAML file of a graph run, or the directory of a search to resume or enlarge',
    )
    .option('--space <file|name>', 'Keys and values to try: a YAML file, or kg, kg-dropout, kg-large')
    .option('--trials <n>', 'Number of points of the space (default: 16)', positiveInteger)
    .option('--output-dir <directory>', 'Directory of the search (default: runs/search-<n>)')
    .addOption(
      new Option('--sampler <name>', 'How points are chosen (default: quasi)').choices(['quasi', 'random']),
    )
    .addOption(
      new Option(
        '--variant <name>',
        'Train every trial in full, or halve successively: first with fewer epochs, fewer columns, or on a core of the graph (default: by size)',
      ).choices(['plain', 'epoch', 'rank', 'graph', 'combined']),
    )
    .option('--seed <n>', 'Seed of the points (default: 1)', wholeNumber)
    .option('--jobs <n>', 'Processes that train trials at the same time', positiveInteger, 1)
    .option('--time <minutes>', 'Start no further trial after this time', positiveInteger)
    .option('--retrain', 'Train the best configuration with several seeds and test it', false)
    .option('--seeds <n>', 'Number of seeds of --retrain', positiveInteger, 3);
  overrideOption(jsonOption(pluginOption(command))).action(async (path: string, options: SearchCommand) =>
    (await import('../search.js')).searchCommand(path, options),
  );
}
