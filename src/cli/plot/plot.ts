/** The work of `skein plot`: pictures of runs, models and data as SVG files. */
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { PreparedDataset } from '../../data/index.js';
import { type Panel, picture } from '../../plot/index.js';
import { runPath } from '../../predict/open-model.js';
import type { MapMethod } from '../../predict/views/embedding-map.js';
import { writeFileAtomic } from '../../storage/atomic-file.js';
import { isRunDirectory } from '../../train/find-run.js';
import { type OpenedGraphRun, Output, openRun } from '../../train/index.js';
import { readCurves } from '../../train/run/run-curves.js';
import { StateError, ValueError } from '../../util/errors.js';
import { hasEvents } from '../info.js';
import type { PluginOptions } from '../options/options.js';
import { datasetDegrees, eventDegrees, mapChart, neighborhoodChart } from './graph-charts.js';
import { confusionChart, rankChart, reliabilityChart } from './prediction-charts.js';
import { curveCharts } from './run-charts.js';

export const plotKinds = [
  'curves',
  'degrees',
  'ranks',
  'confusion',
  'reliability',
  'map',
  'neighborhood',
] as const;
export type PlotKind = (typeof plotKinds)[number];

export interface PlotCommand extends PluginOptions {
  readonly kind?: PlotKind;
  readonly output?: string;
  readonly metric: readonly string[];
  readonly logX: boolean;
  readonly logY: boolean;
  readonly smooth: number;
  readonly layout?: MapMethod;
  readonly node?: string;
  readonly hops: number;
  readonly top: number;
  readonly json: boolean;
  readonly set: readonly string[];
}

export async function plotCommand(paths: readonly string[], command: PlotCommand): Promise<void> {
  const output = new Output({ json: command.json });
  const kind = command.kind ?? (isRunDirectory(runPath(paths[0])) ? 'curves' : 'degrees');
  checkOptions(paths, kind, command);
  const { panels, title } =
    kind === 'curves' ? curves(paths, command) : await pictureOf(paths[0], kind, command, output);
  const svg = picture(panels, { title, description: `${title}. Drawn by skein plot, kind ${kind}.` });
  const file = command.output ?? `${kind}.svg`;
  if (file === '-') {
    process.stdout.write(svg);
    return;
  }
  await writeFileAtomic(file, new TextEncoder().encode(svg));
  output.text(`wrote ${file}`);
  output.event('done', { kind, file, panels: panels.length });
}

/** Throws for options without effect, and for those that are missing. */
function checkOptions(paths: readonly string[], kind: PlotKind, command: PlotCommand): void {
  const wrong = (what: string, got: string): ValueError =>
    new ValueError(`plot: expected ${what}, got ${got}.`);
  if (kind !== 'curves' && paths.length > 1)
    throw wrong(
      `one path for --kind ${kind}`,
      `${paths.length}. Several runs share a picture of their curves only`,
    );
  if (kind === 'neighborhood' && command.node === undefined)
    throw wrong('--node with the name of a node for --kind neighborhood', 'none');
  if (kind !== 'neighborhood' && command.node !== undefined)
    throw wrong(`no --node for --kind ${kind}`, `${command.node}. It belongs to --kind neighborhood`);
  if (kind !== 'curves' && (command.metric.length > 0 || command.smooth > 0 || command.logX || command.logY))
    throw wrong(
      `no options of curves for --kind ${kind}`,
      'some. Leave out --metric, --smooth, --log-x and --log-y',
    );
  if (kind !== 'map' && command.layout !== undefined)
    throw wrong(`no --layout for --kind ${kind}`, `${command.layout}. It belongs to --kind map`);
  if (command.output === '-' && command.json)
    throw wrong('a file for --output with --json', '-. Both would be written to stdout');
}

interface Drawn {
  readonly panels: readonly Panel[];
  readonly title: string;
}

function curves(paths: readonly string[], { metric, logX, logY, smooth }: PlotCommand): Drawn {
  const runs = paths.map((path) => {
    const directory = runPath(path);
    if (!isRunDirectory(directory))
      throw new StateError(
        `plot: expected the directory of a run for --kind curves, got ${path}. "skein train" creates one.`,
      );
    return { name: path, curves: readCurves(directory) };
  });
  const panels = curveCharts(runs, { metrics: metric, logX, logY, smooth });
  if (panels.length === 0)
    throw new StateError(
      `plot: expected a run with at least one epoch, got ${paths.join(', ')} without any.`,
    );
  return { panels, title: paths.map((path) => basename(resolve(path))).join(', ') };
}

async function pictureOf(
  path: string,
  kind: Exclude<PlotKind, 'curves'>,
  command: PlotCommand,
  output: Output,
): Promise<Drawn> {
  const title = basename(resolve(path));
  if (kind === 'degrees' && existsSync(join(path, 'dataset.yaml')))
    return { title, panels: [await datasetDegrees(await PreparedDataset.open(path))] };
  if (kind === 'degrees' && hasEvents(resolve(path)))
    return { title, panels: [await eventDegrees(resolve(path))] };
  const run = await openRun(runPath(path), {
    command: 'plot',
    over: 'graph',
    overrides: command.set,
    plugins: command.plugin,
    advice: 'Event streams have --kind curves, and their event file --kind degrees.',
    onWarning: (message) => output.warn(message),
  });
  try {
    return { title, panels: [await chartOf(run, kind, command)] };
  } finally {
    await run.close();
  }
}

function chartOf(
  run: OpenedGraphRun,
  kind: Exclude<PlotKind, 'curves'>,
  command: PlotCommand,
): Promise<Panel> {
  switch (kind) {
    case 'degrees':
      return datasetDegrees(run.dataset);
    case 'ranks':
      return rankChart(run);
    case 'confusion':
      return confusionChart(run);
    case 'reliability':
      return reliabilityChart(run);
    case 'map':
      return mapChart(run, command.layout ?? 'pca');
    case 'neighborhood': {
      const { node = '', hops, top } = command;
      return neighborhoodChart(run, { node, hops, top });
    }
  }
}
