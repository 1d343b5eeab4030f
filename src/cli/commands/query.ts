/** `skein query`: see ../query.ts. */
import type { Command } from 'commander';
import { jsonOption, overrideOption, pluginOption, wholeNumber } from '../options.js';
import type { QueryCommand } from '../query.js';

export function register(program: Command): void {
  const command = program
    .command('query')
    .description('ask a trained model: likely tails or heads of an edge, nearest neighbours of an entity')
    .argument(
      '<run|config>',
      'the directory of a run or a checkpoint, or the configuration it was trained with',
    )
    .option('--head <name>', 'raw name of a source: answers are destinations')
    .option('--tail <name>', 'raw name of a destination: answers are sources')
    .option('--relation <name>', 'raw name of the relation, where edges have one')
    .option('--neighbors <name>', 'raw name of an entity: answers are entities with similar rows (cosine)')
    .option('--top <k>', 'how many answers', wholeNumber, 10)
    .option('--include-known', 'also edges that the graph has, and the entity itself', false);
  overrideOption(jsonOption(pluginOption(command))).action(async (path: string, options: QueryCommand) =>
    (await import('../query.js')).queryCommand(path, options),
  );
}
