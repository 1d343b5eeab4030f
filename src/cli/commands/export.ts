/** `skein export`: see ../export.ts. */
import type { Command } from 'commander';
import type { ExportCommand } from '../export.js';
import { jsonOption, pluginOption } from '../options/options.js';

export function register(program: Command): void {
  const command = program
    .command('export')
    .description(
      'Write embeddings and other tables of a model with raw ids, the model as ONNX, or its curves for TensorBoard',
    )
    .argument(
      '<directory>',
      'Directory of a run or a checkpoint, a packed model, or a prepared dataset with features',
    )
    .option(
      '-f, --format <name>',
      'csv, npy, parquet or safetensors (binary means npy), onnx for the model itself, or tensorboard for its curves',
      'csv',
    )
    .option('--delim <text>', 'Column delimiter of csv', ',')
    .option(
      '--output-dir <dir>',
      'Write files to this directory (default: <directory>, or that of the packed model)',
    )
    .option(
      '--what <kind...>',
      'Write only these kinds: embeddings, encoded (encoder output of all nodes), relations, features, memory (of a temporal run)',
    )
    .option('--tables <name...>', 'Write only tables of these names (default: all)')
    .option('--overwrite', 'Replace existing files', false);
  jsonOption(pluginOption(command)).action(async (directory: string, options: ExportCommand) => {
    const { removingUnfinished } = await import('../stop-signals.js');
    const { exportCommand } = await import('../export.js');
    await removingUnfinished(() => exportCommand(directory, options));
  });
}
