/**
 * The work of `skein predict`: writes metrics.txt, scores.csv (edges) and labels.csv (nodes) for a test set or a file;
 * classes or encoder output for nodes that are not in the graph.
 */
import { join } from 'node:path';
import { exportTable } from '../../data/index.js';
import type { NameTable } from '../../data/prepare/name-table.js';
import { readNewNodes } from '../../data/prepare/new-nodes.js';
import { newNodeFeatures } from '../../predict/encode-new-nodes.js';
import { encodeNewNodes, predictLinks, predictNodes } from '../../predict/index.js';
import { bestColumns, withTestSet } from '../../predict/predict-split.js';
import { makeFolder } from '../../storage/make-folder.js';
import { fromTypedArray } from '../../tensor/index.js';
import type { NeighborSamplingConfig } from '../../train/config/types.js';
import {
  LinkPredictionModel,
  NodeClassificationModel,
  NodeClassificationReporter,
  type OpenedGraphRun,
  Output,
  openRun,
  type SkeinConfig,
} from '../../train/index.js';
import { ValueError } from '../../util/errors.js';
import type { PluginOptions } from '../options/options.js';
import { CsvFile } from './csv-file.js';
import { edgeColumns, type PredictInput, parseFlag, parseList, readInput } from './predict-input.js';

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
  readonly json: boolean;
  readonly set: readonly string[];
}

export async function predictCommand(path: string, command: PredictCommand): Promise<void> {
  const output = new Output({ json: command.json });
  if (command.newEdges !== undefined && command.newNodes === undefined)
    throw new ValueError(
      'predict: expected --new-nodes with the features of the nodes of --new-edges, got none. Use --input-file to score edges between known nodes.',
    );
  const run = await openRun(path, {
    command: 'predict',
    overrides: command.set,
    plugins: command.plugin,
    adapt: (config) => adapt(config, command),
    onWarning: (message) => output.warn(message),
  });
  if (run.kind === 'events') {
    const { predictEvents } = await import('./predict-events.js');
    return predictEvents(run, command);
  }
  try {
    const folder = command.outputDir ?? run.checkpoint;
    makeFolder(folder);
    if (command.newNodes === undefined) await predictSet(run, command, folder, output);
    else await predictNewNodes(run, command, command.newNodes, folder, output);
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
  const input = await readInput(run, command, (note) => output.note(note));
  const { model } = run;
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
      : await writeLabels(testRun, model as NodeClassificationModel, command, folder);
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

async function writeLabels(
  { source, dataset }: OpenedGraphRun,
  model: NodeClassificationModel,
  command: PredictCommand,
  folder: string,
): Promise<string[]> {
  const [names, classes] = [await dataset.nodeNames(), await dataset.classNames()];
  const csv = command.saveLabels ? new CsvFile(folder, 'labels.csv', ['id', 'y_pred', 'y_true']) : null;
  await predictNodes(source, model, ({ nodes, classes: predicted, labels }) => {
    if (csv === null) return;
    for (let i = 0; i < nodes.length; i++)
      csv.write([
        names.nameOf(nodes[i]),
        className(classes, predicted[i]),
        className(classes, labels?.[i] ?? -1),
      ]);
  });
  return csv === null ? [] : [csv.close()];
}

async function predictNewNodes(
  run: OpenedGraphRun,
  command: PredictCommand,
  features: string,
  folder: string,
  output: Output,
): Promise<void> {
  const { dataset, model } = run;
  const width = newNodeFeatures(run, { command: 'predict', option: '--new-nodes' });
  const names = {
    nodes: await dataset.nodeNames(),
    relations: dataset.hasRelations ? await dataset.relationNames() : null,
  };
  const edges = command.newEdges === undefined ? {} : { edges: command.newEdges };
  const encoding = await dataset.nodeEncoding();
  const onNote = (note: string): void => output.note(note);
  const options = { ...edgeColumns(command), features, ...edges, width, encoding, onNote };
  const added = await readNewNodes(options, names);
  const encoded = await encodeNewNodes(run, added);
  let path: string;
  if (model instanceof NodeClassificationModel) {
    const classes = await dataset.classNames();
    const csv = new CsvFile(folder, 'new_labels.csv', ['id', 'y_pred']);
    const rows = fromTypedArray(encoded.rows, [added.names.length, encoded.width]);
    for (const [i, best] of bestColumns(rows).entries())
      csv.write([added.names[i], className(classes, best)]);
    path = csv.close();
  } else {
    path = join(folder, 'new_encoded_nodes.csv');
    const read = (start: number, end: number): Float32Array =>
      encoded.rows.subarray(start * encoded.width, end * encoded.width);
    const names = {
      size: added.names.length,
      nameOf: (id: number) => added.names[id],
      idOf: () => undefined,
    };
    await exportTable({
      ...{ rows: { rows: names.size, width: encoded.width, read }, names, path },
      format: 'csv',
      overwrite: true,
    });
  }
  output.text(`${added.names.length} new nodes, ${added.edges.length / dataset.numColumns} new edges`);
  output.text(`wrote ${path}`);
  output.event('done', { items: added.names.length, files: [path] });
}

/** Returns the name of a class; −1 means unknown. */
function className(names: NameTable, id: number): string {
  return id < 0 || id >= names.size ? String(id) : names.nameOf(id);
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
  if (hits !== null) return `hits@${hits[1]}`;
  return { mean_rank: 'mr', acc: 'accuracy', categorical_accuracy: 'accuracy' }[lower] ?? lower;
}

function parseNumber(option: string, text: string, least: number, most = 2 ** 31): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && value <= most) return value;
  const range = most === 2 ** 31 ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new ValueError(`predict: expected a number ${range} for ${option}, got ${text}.`);
}
