/** `skein plot`: see ../plot/plot.ts. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  jsonOption,
  overrideOption,
  pluginOption,
  positiveInteger,
  wholeNumber,
} from '../options/options.js';
import type { PlotCommand } from '../plot/plot.js';

const kinds = ['curves', 'degrees', 'ranks', 'confusion', 'reliability', 'map', 'neighborhood'];

export function register(program: Command): void {
  const command = program
    .command('plot')
    .description(
      'Draw runs, models and data as SVG files: curves, degrees, ranks, confusion, maps, neighbourhoods',
    )
    .argument(
      '<path...>',
      'Directories of runs; for one picture also a packed model, a prepared dataset or an event file',
    )
    .addOption(
      new Option('--kind <kind>', 'What to draw (default: curves of runs, degrees of data)').choices(kinds),
    )
    .option('-o, --output <file>', 'SVG file to write, or - for standard output (default: <kind>.svg)')
    .option(
      '--metric <name>',
      'Metric of the curves (repeatable; default: the usual one of the task)',
      (name: string, before: readonly string[]) => [...before, name],
      [],
    )
    .option('--smooth <weight>', 'Moving average of the loss: 0 (none) to 0.99', fraction, 0)
    .option('--log-x', 'Logarithmic axis of epochs', false)
    .option('--log-y', 'Logarithmic axis of the loss', false)
    .addOption(
      new Option(
        '--layout <layout>',
        'Places of nodes on a map: principal components, or UMAP, which keeps neighbours together (default: pca)',
      ).choices(['pca', 'umap']),
    )
    .option('--node <name>', 'Raw name of the node whose neighbourhood is drawn')
    .option('--hops <n>', 'Edges between the node and the farthest one drawn', positiveInteger, 1)
    .option('--top <k>', "Predicted tails for each of the node's main relations", wholeNumber, 3);
  overrideOption(jsonOption(pluginOption(command)))
    .addHelpText(
      'after',
      `
Examples:
  skein plot runs/first runs/second -o curves.svg    loss and validation metric of two runs
  skein plot runs/first --kind map                   all entities on a plane
  skein plot runs/first --kind neighborhood --node ana --hops 2`,
    )
    .action(async (paths: string[], options: PlotCommand) =>
      (await import('../plot/plot.js')).plotCommand(paths, options),
    );
}

function fraction(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value < 1))
    throw new InvalidArgumentError('Expected a number of at least 0 and below 1.');
  return value;
}
