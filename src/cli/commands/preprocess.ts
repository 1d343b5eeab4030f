/** `skein preprocess`: see ../preprocess.ts. Marius's options under its names, and ours. */
import type { Command } from 'commander';
import { ValueError } from '../../util/errors.js';
import { byteSize, headerOption, jsonOption, seedOption, wholeNumber } from '../options.js';
import type { PreprocessCommand } from '../preprocess.js';

const number = (text: string, before: readonly number[] = []): number[] => [...before, Number(text)];

export function register(program: Command): void {
  const command = program
    .command('preprocess')
    .description('prepare a graph for training: number its ids, split its edges, sort them into buckets');
  nodeOptions(headerOption(edgeOptions(command)))
    .option('--memory-limit <size>', 'memory to work in, such as 2G', byteSize)
    .option('--threads <n>', 'threads of DuckDB; the result does not depend on it', wholeNumber)
    .option('--overwrite', 'replace what is in the output directory', false)
    .option('--no-download', 'do not fetch files of a known dataset that are missing')
    .option('--spark', 'accepted for old scripts; has no effect', false);
  jsonOption(seedOption(command)).action(async (options: PreprocessCommand) =>
    (await import('../preprocess.js')).preprocessCommand(options),
  );
}

function edgeOptions(command: Command): Command {
  return command
    .option(
      '--output-directory <dir>',
      'directory to make; of a known dataset by default data/prepared/<name>',
    )
    .option('--dataset <name>', 'a known dataset, such as fb15k-237 or FB15K_237')
    .option('--edges <file...>', 'one file, or training and test, or training, validation and test')
    .option('--query <sql...>', 'SQL that gives edges instead of files, one query or one per part')
    .option('--setup <sql>', "SQL to run first, such as ATTACH 'graph.duckdb' AS g")
    .option(
      '--format <name>',
      'delimited, parquet or json; by default from the ending of the name. All but text needs the package @duckdb/node-api, as SQL does',
    )
    .option('-d, --delim <text>', 'between columns; by default what the first lines show')
    .option('--comment <text>', 'what starts a comment line at the head of a file', '#')
    .option(
      '--src-column <column>',
      'source of an edge, by name or place from 0; by default the usual names in the header, or the order',
    )
    .option('--dst-column <column>', 'destination')
    .option('--edge-type-column <column>', 'relation')
    .option('--edge-weight-column <column>', 'weight')
    .option(
      '--dataset-split <share...>',
      'shares for training and test, or training, validation and test',
      number,
    )
    .option('--num-partitions <n>', 'partitions that edges are sorted by', wholeNumber, 1)
    .option('--partitioned-eval', 'sort validation and test edges too', false)
    .option('--no-remap-ids', 'keep ids, which must be whole numbers')
    .option('--num-nodes <n>', 'with kept ids: how many nodes', wholeNumber)
    .option('--num-relations <n>', 'with kept ids: how many relations', wholeNumber)
    .option('--sequential-train-nodes', 'give training nodes the lowest numbers', false);
}

function nodeOptions(command: Command): Command {
  return command
    .option(
      '--node-types <name...>',
      'one name: sources and destinations share their ids; two (user item): each has ids of its own; by default the header decides',
    )
    .option('--nodes <file>', 'ids of nodes that belong to the graph even without an edge')
    .option(
      '--node-table <[type=]file>',
      'a table about nodes: numbers, categories, dates, true or false, with values missing; becomes features. With two node types customer=customers.csv says whose ids it has; by default the name of the column of ids or of the file',
      oneTable,
    )
    .option('--id-column <column>', 'of the table: the id; by default a column named id, or the first')
    .option('--label-column <column>', 'of the table: the class, where it is known')
    .option('--ignore-columns <column...>', 'of the table: columns that are no features')
    .option('--node-features <file>', 'features that are numbers already: .npy, or text with the id first')
    .option('--node-labels <file>', 'classes: .npy, or text with id and class')
    .option('--train-nodes <file>', 'ids of training nodes')
    .option('--valid-nodes <file>', 'ids of validation nodes')
    .option('--test-nodes <file>', 'ids of test nodes')
    .option(
      '--node-split <share...>',
      'or shares of the labelled nodes; with --label-column by default 0.6 0.2 0.2',
      number,
    );
}

/** The last one alone would count: the others would be left out without a word. */
function oneTable(given: string, before: string | undefined): string {
  if (before === undefined) return given;
  throw new ValueError(
    `preprocess: expected one --node-table, got ${before} and ${given}. Put both into one file: a column for each column of either, empty where a row has no value, and with two node types the type before each id, such as customer:7.`,
  );
}
