/**
 * The part of `skein predict` for nodes that were not in training: their classes, their rows, or the scores of edges between
 * them and nodes of the graph.
 */
import { join } from 'node:path';
import { exportTable } from '../../data/index.js';
import { ExtendedNames, type NewNodeColumns, readNewNodes } from '../../data/prepare/new-nodes.js';
import { newNodeFeatures } from '../../predict/encode-new-nodes.js';
import { encodeNewNodes } from '../../predict/index.js';
import { rowsWithNew } from '../../predict/new-nodes.js';
import { bestColumns } from '../../predict/predict-split.js';
import type { NodeRows } from '../../predict/top-nodes.js';
import { fromTypedArray, scope, softmax } from '../../tensor/index.js';
import { NodeClassificationModel, type OpenedGraphRun, type Output } from '../../train/index.js';
import { ValueError } from '../../util/errors.js';
import { CsvFile } from './csv-file.js';
import type { PredictCommand } from './predict.js';
import { edgeColumns, readInput } from './predict-input.js';
import { className, probabilityCells, probabilityColumns } from './predict-nodes.js';
import { scoreCandidates } from './score-candidates.js';

interface Target {
  readonly folder: string;
  readonly output: Output;
}

/** @param features the file of `--new-nodes`. */
export async function predictNewNodes(
  run: OpenedGraphRun,
  command: PredictCommand,
  features: string,
  { folder, output }: Target,
): Promise<void> {
  const { dataset, model } = run;
  const width = newNodeFeatures(run, { command: 'predict', option: '--new-nodes' });
  const classifies = model instanceof NodeClassificationModel;
  if (classifies && command.inputFile !== undefined)
    throw new ValueError(
      'predict: expected --new-nodes or --input-file for a run of NODE_CLASSIFICATION, got both. New nodes are classified without a list of them.',
    );
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
  const all = new ExtendedNames(names.nodes, added.names, features);
  output.text(`${added.names.length} new nodes, ${added.edges.length / dataset.numColumns} new edges`);
  let items = added.names.length;
  let path: string;
  if (classifies) path = await writeClasses(run, command, added, encoded, folder);
  else if (command.inputFile === undefined) path = await writeRows(added, encoded, folder);
  else {
    const rows = (ids: Int32Array): Promise<NodeRows> =>
      rowsWithNew(run, ids, { ...encoded, names: all, added: added.names });
    const { edges: asked = new Int32Array(0) } =
      (await readInput(run, command, onNote, { nodes: all })) ?? {};
    items = asked.length / dataset.numColumns;
    path = await scoreCandidates(run, asked, { folder, nodes: all, rows });
    output.text(`${items} ${items === 1 ? 'edge' : 'edges'} scored`);
  }
  output.text(`wrote ${path}`);
  output.event('done', { items, files: [path] });
}

async function writeClasses(
  { dataset }: OpenedGraphRun,
  { saveProbabilities = false }: PredictCommand,
  { names }: NewNodeColumns,
  { rows, width }: NodeRows,
  folder: string,
): Promise<string> {
  const classes = await dataset.classNames();
  const header = ['id', 'y_pred', ...probabilityColumns(classes, saveProbabilities)];
  const csv = new CsvFile(folder, 'new_labels.csv', header);
  const logits = fromTypedArray(rows, [names.length, width]);
  const values = scope(() => softmax(logits, 1).dataSync().slice() as Float32Array);
  for (const [i, best] of bestColumns(logits).entries()) {
    const row = values.subarray(i * width, (i + 1) * width);
    csv.write([names[i], className(classes, best), ...probabilityCells(row, best, saveProbabilities)]);
  }
  return csv.close();
}

/** Writes the rows of the encoder. */
async function writeRows(
  { names }: NewNodeColumns,
  { rows, width }: NodeRows,
  folder: string,
): Promise<string> {
  const path = join(folder, 'new_encoded_nodes.csv');
  const read = (start: number, end: number): Float32Array => rows.subarray(start * width, end * width);
  const table = { size: names.length, nameOf: (id: number) => names[id], idOf: () => undefined };
  await exportTable({
    ...{ rows: { rows: table.size, width, read }, names: table, path },
    ...{ format: 'csv', overwrite: true },
  });
  return path;
}
