/** `skein query`: see ../query/query.ts. */
import type { Command } from 'commander';
import { jsonOption, overrideOption, pluginOption, wholeNumber } from '../options/options.js';
import type { QueryCommand } from '../query/query.js';

export function register(program: Command): void {
  const command = program
    .command('query')
    .description(
      'Query a trained model: likely ends of an edge, nearest neighbours, the class of a node, next events',
    )
    .argument(
      '<run|config>',
      'Directory of a run or a checkpoint, a packed model (.tgz), or the configuration it was trained with',
    )
    .option('--head <name>', 'Raw name of a source; rank destinations')
    .option('--tail <name>', 'Raw name of a destination; rank sources')
    .option('--relation <name>', 'Raw name of the relation, if edges have one')
    .option('--neighbors <name>', 'Raw name of an entity; find the nearest entities (cosine similarity)')
    .option('--classify <name>', 'Raw name of a node; its class with probabilities')
    .option('--time <time>', 'Time of the question to an event stream (default: just after its last event)')
    .option('--questions <file>', 'File with one question per line as JSON, or - for standard input')
    .option('--k, --top <k>', 'Number of answers', wholeNumber, 10)
    .option(
      '--all-candidates',
      'Rank all entities, not only those that training edges have at that end of the relation',
      false,
    )
    .option('--include-known', 'Include edges of the graph, and the entity itself', false);
  overrideOption(jsonOption(pluginOption(command)))
    .addHelpText(
      'after',
      `
Questions of a file: {"head":"ana","relation":"knows"}   {"tail":"bo"}   {"neighbors":"ana"}   {"classify":"c4"}
                     {"head":"u3","time":1800000000}`,
    )
    .action(async (path: string, options: QueryCommand) => {
      const { removingUnfinished } = await import('../stop-signals.js');
      const { queryCommand } = await import('../query/query.js');
      await removingUnfinished(() => queryCommand(path, options));
    });
}
