/** `skein preprocess`: see ../preprocess.ts. Marius's options under its names, and ours. */
import type { Command } from 'commander';
import { byteSize, jsonOption, seedOption, wholeNumber } from '../options.js';
import type { PreprocessCommand } from '../preprocess.js';

const number = (text: string, before: readonly number[] = []): number[] => [...before, Number(text)];

export function register(program: Command): void {
  const command = program
    .command('preprocess')
    .description('prepare a graph for training: number its ids, split its edges, sort them into buckets')
    .option(
      '--output-directory <dir>',
      'directory to make; of a known dataset by default data/prepared/<name>',
    )
    .option('--dataset <name>', 'a known dataset, such as fb15k-237 or FB15K_237')
    .option('--edges <file...>', 'one file, or training and test, or training, validation and test')
    .option('--query <sql...>', 'SQL that gives edges instead of files, one query or one per part')
    .option('--setup <sql>', "SQL to run first, such as ATTACH 'graph.duckdb' AS g")
    .option('--format <name>', 'delimited, parquet or json; by default from the ending of the name')
    .option('-d, --delim <text>', 'between columns; by default what the first line shows')
    .option('--header', 'the first line names the columns (implied by columns given by name)')
    .option('--comment <text>', 'what starts a comment line at the head of a file', '#')
    .option('--src-column <column>', 'source of an edge, by name or place from 0')
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
    .option('--sequential-train-nodes', 'give training nodes the lowest numbers', false)
    .option('--nodes <file>', 'ids of nodes that belong to the graph even without an edge')
    .option('--node-features <file>', 'features: .npy, or text with the id first')
    .option('--node-labels <file>', 'classes: .npy, or text with id and class')
    .option('--train-nodes <file>', 'ids of training nodes')
    .option('--valid-nodes <file>', 'ids of validation nodes')
    .option('--test-nodes <file>', 'ids of test nodes')
    .option('--node-split <share...>', 'or shares of the labelled nodes', number)
    .option('--memory-limit <size>', 'memory to work in, such as 2G', byteSize)
    .option('--threads <n>', 'threads of the reader; the result does not depend on it', wholeNumber)
    .option('--overwrite', 'replace what is in the output directory', false)
    .option('--no-download', 'do not fetch files of a known dataset that are missing')
    .option('--spark', 'accepted for old scripts; has no effect', false);
  jsonOption(seedOption(command)).action(async (options: PreprocessCommand) =>
    (await import('../preprocess.js')).preprocessCommand(options),
  );
}
