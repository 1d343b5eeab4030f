/** `skein explain`: see ../explain.ts. */
import { type Command, Option } from 'commander';
import type { ExplainCommand } from '../explain.js';
import {
  jsonOption,
  overrideOption,
  pluginOption,
  positiveInteger,
  wholeNumber,
} from '../options/options.js';

export function register(program: Command): void {
  const command = program
    .command('explain')
    .description(
      'Explain an answer of a trained model: the edges, facts, paths, features or past events that it depends on',
    )
    .argument(
      '<run|config>',
      'Directory of a run or a checkpoint, a packed model (.tgz), or the configuration it was trained with',
    )
    .option('--node <name>', 'Raw name of a node; explain its class')
    .option('--class <name>', 'Class to explain (default: the one that the model predicts)')
    .option('--head <name>', 'Raw name of a source; explain the score of the edge to --tail')
    .option('--tail <name>', 'Raw name of a destination')
    .option('--relation <name>', 'Raw name of the relation, if edges have one')
    .option('--time <time>', 'Time of the event (default: just after the last event of the stream)')
    .option('--k, --top <k>', 'Number of reasons of each kind', positiveInteger, 10)
    .addOption(
      new Option(
        '--method <name>',
        'Models with graph layers: learn masks (default), or take one gradient',
      ).choices(['mask', 'gradient']),
    )
    .option('--steps <n>', 'Steps in which masks are learned (default 100)', positiveInteger)
    .option('--length <n>', 'Links: maximum number of edges of a path, up to 4 (default 2)', positiveInteger)
    .option('--events <n>', 'Events: past events that are left out in turn (default 40)', positiveInteger)
    .option('--max-edges <n>', 'Maximum number of edges of a neighbourhood (default 100000)', positiveInteger)
    .option(
      '--randomize',
      'Also explain a model with random parameters, and print the rank correlation of both explanations',
    )
    .option('--seed <n>', 'Seed of initial masks and of random parameters (default 1)', wholeNumber);
  overrideOption(jsonOption(pluginOption(command))).action(async (path: string, options: ExplainCommand) => {
    const { removingUnfinished } = await import('../stop-signals.js');
    const { explainCommand } = await import('../explain.js');
    await removingUnfinished(() => explainCommand(path, options));
  });
}
