/** `skein partition`: see ../partition.ts. Flags for self loops and directions as SAR's example has them. */
import type { Command } from 'commander';
import { jsonOption, pluginOption, positiveInteger, seedOption } from '../options.js';
import type { PartitionCommand } from '../partition.js';

export function register(program: Command): void {
  const command = program
    .command('partition')
    .description('cut a graph into partitions for several workers')
    .argument(
      '<graph>',
      'a known dataset such as cora, a prepared dataset, a file of edges, or a configuration: the graph its run trains on',
    )
    .requiredOption(
      '--num-partitions <n>',
      'partitions to make; as many workers or fewer can use them',
      positiveInteger,
    )
    .requiredOption('--output <dir>', 'directory to write to')
    .option('--algorithm <name>', 'metis, ldg, speed or random', 'metis')
    .option('--balance <list>', 'what to balance beside nodes: edges, train_mask (metis only)', '')
    .option('--drop-self-loops', 'leave out edges from a node to itself', false)
    .option('--bidirected', 'both directions of every edge, each once', false)
    .option('--add-self-loops', 'an edge from every node to itself', false)
    .option('--name <name>', 'name of the graph in the directory; by default that of the dataset');
  jsonOption(seedOption(pluginOption(command), 0)).action(async (graph: string, options: PartitionCommand) =>
    (await import('../partition.js')).partitionCommand(graph, options),
  );
}
