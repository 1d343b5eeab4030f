/**
 * Explains a score by the words of the question's node. Where an encoder adds a TEXT layer to the other rows, a score is a
 * sum over the words of the node, and each term is the contribution of one word.
 */
import { SparseMatrix } from '../../graph/index.js';
import {
  fromTypedArray,
  matmul,
  noGrad,
  scope,
  sub,
  type Tensor,
  transpose,
  zeros,
} from '../../tensor/index.js';
import { LinkPredictionModel, type OpenedGraphRun } from '../../train/index.js';
import { GeneralEncoder } from '../../train/tasks/graph/model/encoder.js';
import { type EncoderLayer, ReductionLayer, TextLayer } from '../../train/tasks/graph/model/encoder-layer.js';
import { gatherText, type TextRows } from '../../train/tasks/graph/model/text-bags.js';
import { rowsOf } from '../top-nodes.js';

/** How much a word of a text column adds to the score of an answer, or to its lead over another. */
export interface WordContribution {
  readonly word: string;
  readonly column: string;
  readonly value: number;
}

export interface AnswerByWords {
  /** The node of the question. */
  readonly node: number;
  /** Null if edges have none. */
  readonly relation: number | null;
  /** The tail that is explained. */
  readonly answer: number;
  /** The tail that it is compared with; absent: its score is explained. */
  readonly instead?: number;
}

/** Returns the contributions of the node's words, largest first; null if scores are not sums over words. */
export async function wordContributions(
  run: OpenedGraphRun,
  { node, relation, answer, instead }: AnswerByWords,
): Promise<WordContribution[] | null> {
  const { model, storage, dataset } = run;
  const layer = addedTextLayer(model);
  const text = await dataset.readText();
  if (layer === null || storage.text === null || text === null) return null;
  const { decoder } = model as LinkPredictionModel;
  if (decoder.comparator.comparison !== 'dot') return null;
  const own = gatherText(storage.text, Int32Array.of(node));
  const { words, columns, rows } = oneWordRows(own);
  if (words.length === 0) return [];
  const { rows: ends, width } = await rowsOf(run, Int32Array.of(answer, instead ?? answer));
  const values = noGrad(() =>
    scope(() => {
      const relationsOf = (x: Tensor): Int32Array | null =>
        relation === null ? null : new Int32Array(x.shape[0]).fill(relation);
      const queryOf = (x: Tensor): Tensor =>
        decoder.sides({ src: x, dst: x, relations: relationsOf(x), rows: x })[0].query;
      // A relation that is added, and not multiplied, is not contributed by a word.
      const queries = sub(queryOf(layer.encode(rows, null)), queryOf(zeros([1, width])));
      const scores = matmul(queries, transpose(fromTypedArray(ends, [2, width])));
      return (scores.dataSync() as Float32Array).slice();
    }),
  );
  const { vocabulary } = text;
  return Array.from(words, (word, i) => ({
    word: vocabulary.words[word],
    column: vocabulary.columns[columns[i]],
    value: values[2 * i] - (instead === undefined ? 0 : values[2 * i + 1]),
  })).sort((a, b) => b.value - a.value);
}

/** Returns the text layer of an encoder that adds it to the other rows; null for other encoders. */
function addedTextLayer(model: OpenedGraphRun['model']): TextLayer | null {
  if (!(model instanceof LinkPredictionModel && model.encoder instanceof GeneralEncoder)) return null;
  const [inputs, sum, ...others] = model.encoder.stages;
  const layers = inputs.filter((layer) => layer instanceof TextLayer);
  const isSum =
    sum?.[0] instanceof ReductionLayer &&
    sum[0].config.type === 'REDUCTION' &&
    sum[0].config.options.type === 'SUM' &&
    addsRows(sum[0]);
  const adds = others.length === 0 && (sum === undefined ? inputs.length === 1 : isSum);
  return adds && layers.length === 1 && addsRows(layers[0]) ? layers[0] : null;
}

/** Returns whether the output of a layer is its input plus, at most, a bias. */
function addsRows({ config }: EncoderLayer): boolean {
  return config.activation === 'NONE' && config.norm === 'NONE';
}

/** Returns the text of one node as that of several nodes, each with one of its words. */
function oneWordRows({ matrix, columns }: TextRows): {
  readonly words: Int32Array;
  readonly columns: number[];
  readonly rows: TextRows;
} {
  const { offsets, indices } = matrix.adjacency;
  const count = matrix.numEntries;
  const columnOf: number[] = [];
  const starts = new Int32Array(count * columns + 1);
  for (let c = 0; c < columns; c++) for (let p = offsets[c]; p < offsets[c + 1]; p++) columnOf.push(c);
  for (let row = 0; row < count * columns; row++)
    starts[row + 1] = starts[row] + (row % columns === columnOf[Math.floor(row / columns)] ? 1 : 0);
  const single = SparseMatrix.fromCsr(starts, indices, matrix.values, [count * columns, matrix.columns]);
  return { words: indices, columns: columnOf, rows: { matrix: single, columns } };
}
