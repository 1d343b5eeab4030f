/** `skein predict`: see ../predict.ts. Marius's options under its names, and ours. */
import { type Command, Option } from 'commander';
import { headerOption, jsonOption, overrideOption, pluginOption, positiveInteger } from '../options.js';
import type { PredictCommand } from '../predict.js';

export function register(program: Command): void {
  const command = program
    .command('predict')
    .description('metrics, scores, ranks and labels of the test set, of a file, or of new nodes')
    .argument(
      '<run|config>',
      'the directory of a run or a checkpoint, or the configuration it was trained with',
    )
    .option('--output-dir <dir>', 'where the files go; by default the directory of the model')
    .option(
      '--metrics <name...>',
      'mrr, mr, hits@k, auc; accuracy, f1_macro, f1_micro; by default those of the configuration',
    )
    .option('--save-scores', 'write scores.csv with a score for each edge and direction', false)
    .option('--save-ranks', 'write scores.csv with a rank for each edge and direction', false)
    .option('--save-labels', 'write labels.csv with the predicted and the known class of each node', false)
    .option('--batch-size <n>', 'edges or nodes at a time; by default as configured', positiveInteger)
    .option('--num-nbrs <n...>', 'neighbours for each GNN layer, -1 for all; by default as configured')
    .option('--num-negs <n>', 'negatives of each edge, -1 for all nodes; by default as configured')
    .option(
      '--num-chunks <n>',
      'groups of edges that share negatives; by default as configured',
      positiveInteger,
    )
    .option('--deg-frac <share>', 'share of negatives drawn by degree; by default as configured')
    .option(
      '--filtered [flag]',
      'rank against all nodes without true edges; by default as configured, false with --num-negs',
    )
    .option(
      '--input-file <file>',
      'edges (or nodes) to predict instead of the test set, by raw ids; for a temporal run source, destination, time',
    )
    .option('--format <name>', 'binary, csv, tsv, delimited, parquet or json; by default from the file')
    .addOption(new Option('--input-format <name>', "Marius's name of --format").hideHelp())
    .option(
      '--preprocess-input [flag]',
      'false: ids are numbers of the prepared graph already, as in binary files',
    )
    .option('--src-column <column>', 'source, by name or place from 0; by default as in preprocess')
    .option('--dst-column <column>', 'destination')
    .option('--edge-type-column <column>', 'relation')
    .option('--time-column <column>', 'time, for a temporal run')
    .option('--id-column <column>', 'the id in a file of nodes; by default the first column')
    .addOption(new Option('--columns <column...>', 'source, relation, destination').hideHelp())
    .option('-d, --delim <text>', 'between columns; by default what the first lines show')
    .option('--dtype <name>', 'of a binary file: int32 or int64', 'int32')
    .option(
      '--new-nodes <file>',
      'nodes that the graph does not have: a table as that of preprocess --node-table, or their features (text with the id first, .npy)',
    )
    .option('--new-edges <file>', 'edges of the new nodes, by raw ids; nodes of an .npy are new0, new1, …');
  overrideOption(jsonOption(headerOption(pluginOption(command)))).action(
    async (path: string, options: PredictCommand) => {
      const { withoutLeftovers } = await import('../stop-signals.js');
      const { predictCommand } = await import('../predict.js');
      await withoutLeftovers(() => predictCommand(path, options));
    },
  );
}
