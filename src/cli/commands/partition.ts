/** `skein partition`: see ../partition.ts. The flags for self loops and directions are those of SAR's example. */
import type { Command } from 'commander';
import { jsonOption, pluginOption, positiveInteger, seedOption } from '../options/options.js';
import type { PartitionCommand } from '../partition.js';

export function register(program: Command): void {
  const command = program
    .command('partition')
    .description('Partition a graph for several workers')
    .argument(
      '<graph>',
      'Known dataset such as cora, prepared dataset, edge file, or configuration file (the graph that its run trains on)',
    )
    .requiredOption(
      '--num-partitions <n>',
      'Number of partitions; at most as many workers can use them',
      positiveInteger,
    )
    .requiredOption('--output <dir>', 'Write partitions to this directory')
    .option('--algorithm <name>', 'metis, ldg, speed or random', 'metis')
    .option('--balance <list>', 'Balance these as well as nodes: edges, train_mask (metis only)', '')
    .option('--drop-self-loops', 'Remove edges from a node to itself', false)
    .option('--bidirected', 'Add the reverse of each edge, without duplicates', false)
    .option('--add-self-loops', 'Add an edge from each node to itself', false)
    .option('--name <name>', 'Name of the graph in the directory (default: name of the dataset)');
  jsonOption(seedOption(pluginOption(command), 0)).action(async (graph: string, options: PartitionCommand) =>
    (await import('../partition.js')).partitionCommand(graph, options),
  );
}
