/**
 * The work of `skein predict`: writes metrics.txt, scores.csv (edges) and labels.csv (nodes) for a test set or a file;
 * classes or encoder output for nodes that are not in the graph.
 */
import { join } from 'node:path';
import { predictLinks } from '../../predict/index.js';
import { runPath } from '../../predict/open-model.js';
import { withTestSet } from '../../predict/predict-split.js';
import { makeFolder } from '../../storage/make-folder.js';
import type { NeighborSamplingConfig } from '../../train/config/types.js';
import {
  LinkPredictionModel,
  type NodeClassificationModel,
  NodeClassificationReporter,
  type OpenedGraphRun,
  Output,
  openRun,
  type SkeinConfig,
} from '../../train/index.js';
import { findMetric, metricText } from '../../train/run/metric.js';
import { ValueError } from '../../util/errors.js';
import type { PluginOptions } from '../options/options.js';
import { CsvFile } from './csv-file.js';
import { type PredictInput, parseFlag, parseList, readInput } from './predict-input.js';
import { chosenNodes, writeLabels } from './predict-nodes.js';
import { hasCandidates, scoreCandidates } from './score-candidates.js';

export interface PredictCommand extends PredictInput, PluginOptions {
  readonly outputDir?: string;
  readonly metrics?: readonly string[];
  readonly saveLabels: boolean;
  readonly saveScores: boolean;
  readonly saveRanks: boolean;
  readonly batchSize?: number;
  readonly numNbrs?: readonly string[];
  readonly numNegs?: string;
  readonly numChunks?: number;
  readonly degFrac?: string;
  readonly filtered?: boolean | string;
  readonly newNodes?: string;
  readonly newEdges?: string;
  /** `all` or `unlabelled`. */
  readonly nodes?: string;
  readonly saveProbabilities?: boolean;
  readonly json: boolean;
  readonly set: readonly string[];
}

export async function predictCommand(path: string, command: PredictCommand): Promise<void> {
  const output = new Output({ json: command.json });
  if (command.newEdges !== undefined && command.newNodes === undefined)
    throw new ValueError(
      'predict: expected --new-nodes with the features of the nodes of --new-edges, got none. Use --input-file to score edges between known nodes.',
    );
  const run = await openRun(runPath(path), {
    command: 'predict',
    overrides: command.set,
    plugins: command.plugin,
    adapt: (config) => adapt(config, command),
    onWarning: (message) => output.warn(message),
  });
  try {
    if (run.kind === 'events') {
      const { predictEvents } = await import('./predict-events.js');
      return await predictEvents(run, command);
    }
    const folder = command.outputDir ?? run.checkpoint;
    makeFolder(folder);
    if (command.newNodes === undefined) await predictSet(run, command, folder, output);
    else {
      const { predictNewNodes } = await import('./predict-new-nodes.js');
      await predictNewNodes(run, command, command.newNodes, { folder, output });
    }
  } finally {
    await run.close();
  }
}

async function predictSet(
  run: OpenedGraphRun,
  command: PredictCommand,
  folder: string,
  output: Output,
): Promise<void> {
  const { model } = run;
  if (command.nodes !== undefined && command.inputFile !== undefined)
    throw new ValueError('predict: expected --nodes or --input-file, got both. Leave out one of them.');
  let skipped = 0;
  const onSkipped = (): void => void skipped++;
  const input =
    command.nodes === undefined
      ? await readInput(run, command, (note) => output.note(note), { onSkipped })
      : { nodes: await chosenNodes(run, command.nodes) };
  if (skipped > 0) output.note(`${skipped} ${skipped === 1 ? 'line' : 'lines'} with unknown names skipped`);
  if (model instanceof LinkPredictionModel && input?.edges !== undefined && hasCandidates(command)) {
    const nodes = await run.dataset.nodeNames();
    const file = await scoreCandidates(run, input.edges, { folder, nodes });
    const items = input.edges.length / run.dataset.numColumns;
    output.text(`${items.toLocaleString('en')} ${items === 1 ? 'edge' : 'edges'} scored, wrote ${file}`);
    output.event('done', { items, skipped, files: [file] });
    return;
  }
  const predictsLinks = model instanceof LinkPredictionModel;
  if (predictsLinks && command.saveLabels)
    output.warn('--save-labels has no effect: a link prediction model has no labels.');
  if (!predictsLinks && (command.saveScores || command.saveRanks))
    output.warn(
      '--save-scores and --save-ranks have no effect: a node classification model has labels. Use --save-labels.',
    );
  const testRun = input === null ? run : { ...run, source: await withTestSet(run, input) };
  const files =
    model instanceof LinkPredictionModel
      ? await writeScores(testRun, model, command, folder)
      : await writeLabels(testRun, model as NodeClassificationModel, {
          folder,
          writesFile: command.saveLabels || command.saveProbabilities === true || command.nodes !== undefined,
          allProbabilities: command.saveProbabilities === true,
        });
  const { reporter } = model as LinkPredictionModel | NodeClassificationModel;
  const labelled = reporter instanceof NodeClassificationReporter ? reporter.labelled : reporter.size;
  const metrics = labelled === 0 ? {} : reporter.results();
  if (labelled > 0) {
    await reporter.save(folder);
    files.push(join(folder, 'metrics.txt'));
    output.text(reporter.report());
  }
  if (labelled === 0 && reporter.size > 0)
    output.text(`${reporter.size} nodes without a known class: no metrics`);
  output.text(
    files.length === 0 ? 'wrote nothing (--save-labels writes the classes)' : `wrote ${files.join(', ')}`,
  );
  const prefixed = Object.entries(metrics).map(([name, value]) => [`test.${name}`, value] as const);
  output.event('done', { items: reporter.size, files, metrics, ...Object.fromEntries(prefixed) });
}

async function writeScores(
  { source, dataset }: OpenedGraphRun,
  model: LinkPredictionModel,
  command: PredictCommand,
  folder: string,
): Promise<string[]> {
  const writesFile = command.saveScores || command.saveRanks;
  const [nodes, relations] = [await dataset.nodeNames(), await dataset.relationNames()];
  const typed = dataset.hasRelations;
  const header = [
    ...['src', ...(typed ? ['rel'] : []), 'dst'],
    ...(command.saveRanks ? ['rank'] : []),
    ...(command.saveScores ? ['score'] : []),
    'direction',
  ];
  const csv = writesFile ? new CsvFile(folder, 'scores.csv', header) : null;
  await predictLinks(source, model, ({ src, dst, relations: types, direction, ranks, scores }) => {
    if (csv === null) return;
    for (let i = 0; i < src.length; i++)
      csv.write([
        nodes.nameOf(src[i]),
        ...(types === null ? [] : [relations.nameOf(types[i])]),
        nodes.nameOf(dst[i]),
        ...(command.saveRanks ? [String(ranks[i])] : []),
        ...(command.saveScores ? [String(scores[i])] : []),
        direction,
      ]);
  });
  return csv === null ? [] : [csv.close()];
}

/** Returns the configuration with the evaluation options of the command line. */
function adapt(config: SkeinConfig, command: PredictCommand): SkeinConfig {
  const { evaluation, model } = config;
  const { negative_sampling: negatives } = evaluation;
  const count = command.numNegs === undefined ? undefined : parseNumber('--num-negs', command.numNegs, -1);
  const sampled = count !== undefined && count >= 0 ? false : undefined;
  const names = parseList(command.metrics).map(parseMetric);
  return {
    ...config,
    model: {
      ...model,
      encoder: { ...model.encoder, ...neighborSampling(config, parseList(command.numNbrs)) },
    },
    evaluation: {
      ...evaluation,
      batch_size: command.batchSize ?? evaluation.batch_size,
      metrics: names.length === 0 ? evaluation.metrics : names,
      negative_sampling: {
        ...negatives,
        negatives_per_positive: count ?? negatives.negatives_per_positive,
        num_chunks: command.numChunks ?? negatives.num_chunks,
        degree_fraction:
          command.degFrac === undefined
            ? negatives.degree_fraction
            : parseNumber('--deg-frac', command.degFrac, 0, 1),
        filtered: parseFlag('--filtered', command.filtered) ?? sampled ?? negatives.filtered,
      },
    },
  };
}

function neighborSampling(config: SkeinConfig, given: readonly string[]): object {
  const { length } = config.model.encoder.eval_neighbor_sampling;
  if (given.length === 0) return {};
  if (given.length !== 1 && given.length !== length)
    throw new ValueError(
      `predict: expected ${length} numbers for --num-nbrs, one per GNN layer, got ${given.length}.`,
    );
  const rules = Array.from({ length }, (_, i): NeighborSamplingConfig => {
    const most = parseNumber('--num-nbrs', given[given.length === 1 ? 0 : i], -1);
    return most < 0 ? { type: 'ALL', options: {} } : { type: 'UNIFORM', options: { max_neighbors: most } };
  });
  return { eval_neighbor_sampling: rules };
}

/** Translates Marius's metric names into ours. */
function parseMetric(text: string): string {
  const lower = text.toLowerCase();
  const hits = /^hits@?k?(\d+)$/.exec(lower);
  const name =
    hits !== null
      ? `hits@${hits[1]}`
      : ({ mean_rank: 'mr', acc: 'accuracy', categorical_accuracy: 'accuracy' }[lower] ?? lower);
  if (findMetric(name) === undefined)
    throw new ValueError(`predict: expected ${metricText()} for --metrics, got ${text}.`);
  return name;
}

function parseNumber(option: string, text: string, least: number, most = 2 ** 31): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && value <= most) return value;
  const range = most === 2 ** 31 ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new ValueError(`predict: expected a number ${range} for ${option}, got ${text}.`);
}
