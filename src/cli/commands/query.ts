/** `skein query`: see ../query.ts. */
import type { Command } from 'commander';
import { jsonOption, overrideOption, pluginOption, wholeNumber } from '../options/options.js';
import type { QueryCommand } from '../query.js';

export function register(program: Command): void {
  const command = program
    .command('query')
    .description(
      'Query a trained model for likely tails or heads of an edge, or nearest neighbours of an entity',
    )
    .argument('<run|config>', 'Directory of a run or a checkpoint, or the configuration it was trained with')
    .option('--head <name>', 'Raw name of a source; rank destinations')
    .option('--tail <name>', 'Raw name of a destination; rank sources')
    .option('--relation <name>', 'Raw name of the relation, if edges have one')
    .option('--neighbors <name>', 'Raw name of an entity; find the nearest entities (cosine similarity)')
    .option('--top <k>', 'Number of answers', wholeNumber, 10)
    .option(
      '--all-candidates',
      'Rank all entities, not only those that training edges have at that end of the relation',
      false,
    )
    .option('--include-known', 'Include edges of the graph, and the entity itself', false);
  overrideOption(jsonOption(pluginOption(command))).action(async (path: string, options: QueryCommand) =>
    (await import('../query.js')).queryCommand(path, options),
  );
}
