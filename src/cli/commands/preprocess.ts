/** `skein preprocess`: see ../preprocess.ts. Marius's options keep Marius's names. */
import type { Command } from 'commander';
import { ValueError } from '../../util/errors.js';
import { byteSize, headerOption, jsonOption, seedOption, wholeNumber } from '../options/options.js';
import type { PreprocessCommand } from '../preprocess.js';

const appendNumber = (text: string, before: readonly number[] = []): number[] => [...before, Number(text)];

export function register(program: Command): void {
  const command = program
    .command('preprocess')
    .description('Prepare a graph for training: number its nodes, split its edges, sort them into buckets');
  nodeOptions(headerOption(edgeOptions(command)))
    .option('--memory-limit <size>', 'Working memory, such as 2G', byteSize)
    .option('--threads <n>', 'Threads of DuckDB; the result does not depend on it', wholeNumber)
    .option('--overwrite', 'Replace the contents of the output directory', false)
    .option('--no-download', 'Do not download missing files of a known dataset')
    .option('--spark', 'Accepted for compatibility; has no effect', false);
  jsonOption(seedOption(command)).action(async (options: PreprocessCommand) =>
    (await import('../preprocess.js')).preprocessCommand(options),
  );
}

function edgeOptions(command: Command): Command {
  return command
    .option(
      '--output-directory <dir>',
      'Write to this directory (default for a known dataset: data/prepared/<name>)',
    )
    .option('--dataset <name>', 'Prepare a known dataset, such as fb15k-237 or FB15K_237')
    .option(
      '--edges <file...>',
      'Read edges from one file, or from training and test, or training, validation and test',
    )
    .option('--query <sql...>', 'Read edges with SQL instead: one query, or one per split')
    .option(
      '--database <url>',
      'Run queries there: postgres://user@host/name, mysql://user@host/name, sqlite:FILE, or a file .sqlite, .db or .duckdb (default: DuckDB, over files); passwords in PGPASSWORD or MYSQL_PWD',
    )
    .option('--setup <sql>', "Run SQL first, such as ATTACH 'graph.duckdb' AS g")
    .option(
      '--format <name>',
      'delimited, parquet, json, rdf or graphml (default: from the file name); parquet, json and SQL need the package @duckdb/node-api',
    )
    .option('--no-literals', 'Leave out statements of RDF whose object is a literal')
    .option('-d, --delim <text>', 'Column delimiter (default: detect)')
    .option('--comment <text>', 'Skip lines at the top of a file that start with this', '#')
    .option(
      '--src-column <column>',
      'Source column, by name or index from 0 (default: by common header names, else by order)',
    )
    .option('--dst-column <column>', 'Destination column')
    .option('--edge-type-column <column>', 'Relation column')
    .option('--edge-weight-column <column>', 'Weight column')
    .option(
      '--dataset-split <fraction...>',
      'Fractions of edges for training and test, or training, validation and test',
      appendNumber,
    )
    .option('--num-partitions <n>', 'Sort edges into buckets of this many node partitions', wholeNumber, 1)
    .option('--partitioned-eval', 'Sort validation and test edges too', false)
    .option('--no-remap-ids', 'Keep the ids of the input, which must be whole numbers')
    .option('--num-nodes <n>', 'Number of nodes, with --no-remap-ids', wholeNumber)
    .option('--num-relations <n>', 'Number of relations, with --no-remap-ids', wholeNumber)
    .option('--sequential-train-nodes', 'Give training nodes the lowest numbers', false);
}

function nodeOptions(command: Command): Command {
  return command
    .option(
      '--node-types <name...>',
      'One name if sources and destinations share ids, two (user item) if each has separate ids (default: from the header)',
    )
    .option('--nodes <file>', 'Read ids of nodes, which may have no edges')
    .option(
      '--node-table <[type=]file>',
      'Read features from a table of numbers, categories, dates and booleans; values may be missing. With two node types, customer=customers.csv sets the type (default: name of the id column or of the file)',
      acceptOneTable,
    )
    .option('--node-query <sql>', 'Read the table with SQL instead')
    .option('--id-column <column>', 'Id column of the table (default: id, else the first)')
    .option('--label-column <column>', 'Class column of the table; classes may be missing')
    .option('--ignore-columns <column...>', 'Columns of the table that are not features')
    .option('--text-columns <column...>', 'Columns of the table with text, whose words TEXT layers read')
    .option('--node-features <file>', 'Read numeric features: .npy, or text with the id first')
    .option('--node-labels <file>', 'Read classes: .npy, or text with id and class')
    .option('--train-nodes <file>', 'Read ids of training nodes')
    .option('--valid-nodes <file>', 'Read ids of validation nodes')
    .option('--test-nodes <file>', 'Read ids of test nodes')
    .option(
      '--node-split <fraction...>',
      'Split labelled nodes by fractions instead (default with --label-column: 0.6 0.2 0.2)',
      appendNumber,
    );
}

/** Throws on a second table: commander would silently take the last one alone. */
function acceptOneTable(given: string, before: string | undefined): string {
  if (before === undefined) return given;
  throw new ValueError(
    `preprocess: expected one --node-table, got ${before} and ${given}. Join them into one file: all columns of both, empty if a row has no value; with two node types, put the type before each id, such as customer:7.`,
  );
}
