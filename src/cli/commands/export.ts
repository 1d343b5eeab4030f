/** `skein export`: see ../export.ts. */
import type { Command } from 'commander';
import type { ExportCommand } from '../export.js';
import { jsonOption, pluginOption } from '../options.js';

export function register(program: Command): void {
  const command = program
    .command('export')
    .description('write embeddings with raw ids for other programs')
    .argument('<directory>', 'the directory of a run or a checkpoint, or a prepared directory with features')
    .option(
      '-f, --format <name>',
      'csv, npy, parquet or safetensors (binary means npy); onnx for the model itself',
      'csv',
    )
    .option('--delim <text>', 'between columns of csv', ',')
    .option('--output-dir <dir>', 'where the files go; by default the directory itself')
    .option(
      '--what <kind...>',
      "embeddings, encoded (the encoder's result for every node), relations, features; memory (of a temporal run)",
    )
    .option('--tables <name...>', 'only these; by default all there are')
    .option('--overwrite', 'replace files that are there', false);
  jsonOption(pluginOption(command)).action(async (directory: string, options: ExportCommand) => {
    const { withoutLeftovers } = await import('../stop-signals.js');
    const { exportCommand } = await import('../export.js');
    await withoutLeftovers(() => exportCommand(directory, options));
  });
}
