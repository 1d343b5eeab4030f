/** `skein predict`: see ../predict/predict.ts. Marius's options keep Marius's names. */
import { type Command, Option } from 'commander';
import {
  headerOption,
  jsonOption,
  overrideOption,
  pluginOption,
  positiveInteger,
} from '../options/options.js';
import type { PredictCommand } from '../predict/predict.js';

export function register(program: Command): void {
  const command = program
    .command('predict')
    .description('Compute metrics, scores, ranks and labels for the test set, a file or new nodes')
    .argument(
      '<run|config>',
      'Directory of a run or a checkpoint, a packed model (.tgz), or the configuration it was trained with',
    )
    .option('--output-dir <dir>', 'Write files to this directory (default: directory of the model)')
    .option(
      '--metrics <name...>',
      'Metrics of links (mrr, mr, hits@k, auc) or nodes (accuracy, f1_macro, f1_micro) (default: from the configuration)',
    )
    .option('--save-scores', 'Write the score of each edge and direction to scores.csv', false)
    .option('--save-ranks', 'Write the rank of each edge and direction to scores.csv', false)
    .option('--save-labels', 'Write the predicted and the known class of each node to labels.csv', false)
    .option('--save-probabilities', 'Write the probability of each class to labels.csv as well', false)
    .option('--nodes <which>', 'Classify all nodes, or those that are unlabelled, into labels.csv')
    .option('--skip-unknown', 'Skip lines of the input file with names that the model does not know', false)
    .option('--batch-size <n>', 'Edges or nodes per batch (default: from the configuration)', positiveInteger)
    .option('--num-nbrs <n...>', 'Neighbours per GNN layer, -1 for all (default: from the configuration)')
    .option('--num-negs <n>', 'Negatives per edge, -1 for all nodes (default: from the configuration)')
    .option(
      '--num-chunks <n>',
      'Groups of edges that share negatives (default: from the configuration)',
      positiveInteger,
    )
    .option(
      '--deg-frac <fraction>',
      'Fraction of negatives drawn by degree (default: from the configuration)',
    )
    .option(
      '--filtered [flag]',
      'Rank against all nodes, leaving out true edges (default: from the configuration; false with --num-negs)',
    )
    .option(
      '--input-file <file>',
      'Read edges or nodes by raw ids instead of the test set, and score edges; for a temporal run: source, destination, time',
    )
    .option('--format <name>', 'binary, csv, tsv, delimited, parquet or json (default: from the file name)')
    .addOption(new Option('--input-format <name>', "Marius's name for --format").hideHelp())
    .option(
      '--preprocess-input [flag]',
      'With false, read ids as numbers of the prepared graph, as in binary files (default: true)',
    )
    .option('--dtype <name>', 'Number type of a binary file: int32 or int64', 'int32')
    .option(
      '--new-nodes <file>',
      'Read nodes that are not in the graph: a table as for preprocess --node-table, or features (.npy, or text with the id first)',
    )
    .option(
      '--new-edges <file>',
      'Read edges of the new nodes by raw ids; nodes of an .npy are new0, new1, …',
    );
  overrideOption(jsonOption(headerOption(pluginOption(columnOptions(command))))).action(
    async (path: string, options: PredictCommand) => {
      const { removingUnfinished } = await import('../stop-signals.js');
      const { predictCommand } = await import('../predict/predict.js');
      await removingUnfinished(() => predictCommand(path, options));
    },
  );
}

/** Adds the columns of the input file. */
function columnOptions(command: Command): Command {
  return command
    .option('--src-column <column>', 'Source column, by name or index from 0 (default: as in preprocess)')
    .option('--dst-column <column>', 'Destination column')
    .option('--edge-type-column <column>', 'Relation column')
    .option('--time-column <column>', 'Time column, for a temporal run')
    .option('--id-column <column>', 'Id column of a node file (default: the first)')
    .addOption(new Option('--columns <column...>', 'Source, relation and destination column').hideHelp())
    .option('-d, --delim <text>', 'Column delimiter (default: detect)');
}
