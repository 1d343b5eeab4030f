/** The part of `skein predict` for nodes: classes and their probabilities. */
import type { NameTable } from '../../data/prepare/name-table.js';
import { predictNodes } from '../../predict/index.js';
import { scope, softmax } from '../../tensor/index.js';
import type { NodeClassificationModel, OpenedGraphRun } from '../../train/index.js';
import { ValueError } from '../../util/errors.js';
import { CsvFile } from './csv-file.js';

/** Columns of the probabilities in a file of classes: that of the predicted class, then with `all` those of each class. */
export function probabilityColumns(classes: NameTable, all: boolean): string[] {
  const each = all ? Array.from({ length: classes.size }, (_, id) => `p:${classes.nameOf(id)}`) : [];
  return ['probability', ...each];
}

/** Returns the cells of `probabilityColumns` for a row of probabilities. */
export function probabilityCells(row: Float32Array, best: number, all: boolean): string[] {
  const cell = (value: number): string => String(Number(value.toPrecision(6)));
  return [cell(row[best]), ...(all ? Array.from(row, cell) : [])];
}

interface LabelsFile {
  readonly folder: string;
  readonly writesFile: boolean;
  /** Whether the file has the probability of each class. */
  readonly allProbabilities: boolean;
}

/** Classifies the nodes of the test set; writes labels.csv. */
export async function writeLabels(
  { source, dataset }: OpenedGraphRun,
  model: NodeClassificationModel,
  { folder, writesFile, allProbabilities: all }: LabelsFile,
): Promise<string[]> {
  const [names, classes] = [await dataset.nodeNames(), await dataset.classNames()];
  const header = ['id', 'y_pred', 'y_true', ...probabilityColumns(classes, all)];
  const csv = writesFile ? new CsvFile(folder, 'labels.csv', header) : null;
  await predictNodes(source, model, ({ nodes, classes: predicted, labels, logits }) => {
    if (csv === null) return;
    const values = scope(() => softmax(logits, 1).dataSync().slice() as Float32Array);
    const width = logits.shape[1];
    for (let i = 0; i < nodes.length; i++)
      csv.write([
        names.nameOf(nodes[i]),
        className(classes, predicted[i]),
        className(classes, labels?.[i] ?? -1),
        ...probabilityCells(values.subarray(i * width, (i + 1) * width), predicted[i], all),
      ]);
  });
  return csv === null ? [] : [csv.close()];
}

/** Returns the nodes of `--nodes`: all, or those without a class. */
export async function chosenNodes({ dataset, kind }: OpenedGraphRun, wanted: string): Promise<Int32Array> {
  if (kind !== 'nodes')
    throw new ValueError(
      'predict: expected a run of NODE_CLASSIFICATION for --nodes, got one of LINK_PREDICTION.',
    );
  if (wanted !== 'all' && wanted !== 'unlabelled')
    throw new ValueError(`predict: expected all or unlabelled for --nodes, got ${wanted}.`);
  const all = Int32Array.from({ length: dataset.stats.num_nodes }, (_, id) => id);
  if (wanted === 'all') return all;
  const labels = await dataset.readLabels();
  const without = all.filter((id) => (labels?.[id] ?? -1) < 0);
  if (without.length > 0) return without;
  throw new ValueError(
    `predict: expected nodes without a class for --nodes unlabelled, got none of ${all.length}. Use --nodes all.`,
  );
}

/** Returns the name of a class; empty if it is unknown. */
export function className(names: NameTable, id: number): string {
  return id < 0 || id >= names.size ? '' : names.nameOf(id);
}
