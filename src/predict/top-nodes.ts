/**
 * The best nodes for questions, over all nodes or candidates: the most likely other endpoints of edges, and the nodes with
 * the most similar rows. Questions with the same candidates are scored together, in one pass over the table.
 */
import { CosineCompare, type EdgeDecoder } from '../gnn/index.js';
import { kernels, scoreCode } from '../native/index.js';
import { fromTypedArray, noGrad, scope } from '../tensor/index.js';
import { LinkPredictionModel, type OpenedGraphRun } from '../train/index.js';
import { rowsForReading } from '../train/tasks/graph/encoded-nodes.js';
import type { GraphStorage } from '../train/tasks/graph/storage/graph-storage.js';
import { checkInteger, StateError } from '../util/errors.js';
import { invocation } from '../util/invocation.js';
import type { BestOptions, ScoredNode } from './search/best-scores.js';
import {
  type BlockScorer,
  comparatorScorer,
  kernelScorer,
  pairScorer,
  type QueryVectors,
} from './search/block-scorer.js';
import { isCustomDecoder, scorePairs } from './search/score-pairs.js';
import { type Search, searchRows } from './search/search-rows.js';

export type { ScoredNode } from './search/best-scores.js';

export interface LinkQuestion extends BestOptions {
  /** The known endpoint. */
  readonly node: number;
  /** null if edges have no relation. */
  readonly relation: number | null;
  /** The endpoint to predict. */
  readonly want: 'tail' | 'head';
  /** Candidates, ascending; null (default) for all nodes. Questions with the same array are answered together. */
  readonly among?: Int32Array | null;
}

/** Questions that are scored together: more would not be faster, and need more memory. */
const questionsAtOnce = 64;

/** Returns the most likely other endpoints of edges from (want tail) or to (want head) a node, for each question. */
export async function topLinks(
  run: OpenedGraphRun,
  questions: readonly LinkQuestion[],
): Promise<ScoredNode[][]> {
  const { decoder } = requireLinkModel(run);
  for (const { count } of questions) checkInteger('topLinks', 'count', count, 1);
  const ends = await rowsOf(
    run,
    Int32Array.from(questions, ({ node }) => node),
  );
  const scale = decoder.comparator instanceof CosineCompare ? await inverseNorms(run.storage) : null;
  const groups = groupQuestions(questions);
  const searches = groups.map(
    (group): Search => ({
      scorer: linkScorer(
        decoder,
        group.map((i) => questions[i]),
        gatherRows(ends, group),
      ),
      queries: group.map((i) => questions[i]),
      among: questions[group[0]].among ?? null,
      scale,
    }),
  );
  const found = await searchRows(run.storage.tiles(), ends.width, searches);
  return inOrder(questions.length, groups, found);
}

/** Returns, for each node, the nodes whose rows have the highest cosine similarity with its own. */
export async function nearestNodes(
  run: OpenedGraphRun,
  nodes: Int32Array,
  count: number,
): Promise<ScoredNode[][]> {
  checkInteger('nearestNodes', 'count', count, 1);
  const { rows, width } = await rowsOf(run, nodes);
  const scale = await inverseNorms(run.storage);
  const own = normalized(rows, width);
  const groups = cut(Array.from(nodes.keys()));
  const searches = groups.map(
    (group): Search => ({
      scorer: kernelScorer('dot', {
        rows: own.subarray(group[0] * width, (group[0] + group.length) * width),
        count: group.length,
        width,
      }),
      queries: group.map((i) => ({ count, exclude: new Set([nodes[i]]) })),
      among: null,
      scale,
    }),
  );
  return inOrder(nodes.length, groups, await searchRows(run.storage.tiles(), width, searches));
}

/** Returns the rows of nodes that the model compares. */
export async function rowsOf(run: OpenedGraphRun, ids: Int32Array): Promise<NodeRows> {
  await rowsForReading(run);
  return run.storage.readEncoded(ids);
}

export interface NodeRows {
  readonly rows: Float32Array;
  readonly width: number;
}

/** Edges by ids; relations are null if edges have none. */
export interface ScoredEdges {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly relations: Int32Array | null;
}

/** Edges that are scored at a time: their rows are copied. */
const edgesAtOnce = 16_384;

export interface ScoreEdgesOptions {
  /** rhs (default): an edge is scored as a prediction of its destination; lhs: of its source, if the decoder predicts sources. */
  readonly direction?: 'rhs' | 'lhs';
  /** Returns the rows of nodes; default: those of the graph. */
  readonly rows?: ((ids: Int32Array) => Promise<NodeRows>) | undefined;
}

export async function scoreEdges(
  run: OpenedGraphRun,
  { src, dst, relations }: ScoredEdges,
  { direction = 'rhs', rows = (ids) => rowsOf(run, ids) }: ScoreEdgesOptions = {},
): Promise<Float32Array> {
  const { decoder } = requireLinkModel(run);
  const scores = new Float32Array(src.length);
  for (let from = 0; from < src.length; from += edgesAtOnce) {
    const to = Math.min(from + edgesAtOnce, src.length);
    const ends = await Promise.all([src, dst].map((ids) => rows(ids.subarray(from, to))));
    const kinds = relations?.subarray(from, to) ?? null;
    scores.set(scoreRows(decoder, ends, kinds, direction), from);
  }
  return scores;
}

/** Scores edges by the rows of their ends. */
function scoreRows(
  decoder: EdgeDecoder,
  ends: readonly NodeRows[],
  relations: Int32Array | null,
  direction: 'rhs' | 'lhs',
): Float32Array {
  return noGrad(() =>
    scope(() => {
      const [heads, tails] = ends.map(({ rows, width }) =>
        fromTypedArray(rows, [rows.length / width, width]),
      );
      const input = { src: heads, dst: tails, relations, rows: tails };
      return Float32Array.from(scorePairs(decoder, input, direction).dataSync());
    }),
  );
}

function requireLinkModel({ model }: OpenedGraphRun): LinkPredictionModel {
  if (model instanceof LinkPredictionModel) return model;
  throw new StateError(
    `query: expected a run of LINK_PREDICTION for --head and --tail, got one of NODE_CLASSIFICATION. Use --neighbors, or "${invocation()} predict".`,
  );
}

/** Returns the positions of questions with the same candidates and direction, some at a time. */
function groupQuestions(questions: readonly LinkQuestion[]): number[][] {
  const groups = new Map<Int32Array | null, Record<'tail' | 'head', number[]>>();
  for (const [i, { among = null, want }] of questions.entries()) {
    const group = groups.get(among) ?? { tail: [], head: [] };
    groups.set(among, group);
    group[want].push(i);
  }
  return [...groups.values()].flatMap(({ tail, head }) => [...cut(tail), ...cut(head)]);
}

function cut(positions: readonly number[]): number[][] {
  const groups: number[][] = [];
  for (let i = 0; i < positions.length; i += questionsAtOnce)
    groups.push(positions.slice(i, i + questionsAtOnce));
  return groups;
}

function inOrder(count: number, groups: readonly number[][], found: ScoredNode[][][]): ScoredNode[][] {
  const results = new Array<ScoredNode[]>(count);
  for (const [g, group] of groups.entries()) for (const [i, at] of group.entries()) results[at] = found[g][i];
  return results;
}

function gatherRows({ rows, width }: NodeRows, positions: readonly number[]): QueryVectors {
  const gathered = new Float32Array(positions.length * width);
  for (const [i, at] of positions.entries())
    gathered.set(rows.subarray(at * width, (at + 1) * width), i * width);
  return { rows: gathered, count: positions.length, width };
}

/** Returns the scorer of questions in one direction, with the rows of their known ends. */
function linkScorer(
  decoder: EdgeDecoder,
  questions: readonly LinkQuestion[],
  own: QueryVectors,
): BlockScorer {
  const { want, relation } = questions[0];
  const relations =
    relation === null ? null : Int32Array.from(questions, (question) => question.relation as number);
  // Without a query for sources, a source is predicted by scoring its edge forwards.
  if (isCustomDecoder(decoder) || (want === 'head' && !decoder.bothDirections))
    return pairScorer(decoder, { own, relations, want });
  const query = noGrad(() =>
    scope(() => {
      const ends = fromTypedArray(own.rows, [own.count, own.width]);
      return Float32Array.from(decoder.query(ends, relations, want === 'tail' ? 'rhs' : 'lhs').dataSync());
    }),
  );
  const { comparison } = decoder.comparator;
  const asked = { ...own, rows: query };
  if (comparison === null) return comparatorScorer(decoder, asked);
  if (comparison !== 'cosine') return kernelScorer(comparison, asked);
  return kernelScorer('dot', { ...asked, rows: normalized(query, own.width) });
}

/** Lengths of rows, as factors of scores, by the storage of an opened run, whose rows do not change. */
const normsOf = new WeakMap<GraphStorage, Promise<Float32Array>>();

/** Returns 1 / length of every row, 0 for rows of zeros. */
function inverseNorms(storage: GraphStorage): Promise<Float32Array> {
  let norms = normsOf.get(storage);
  if (norms === undefined) {
    norms = readInverseNorms(storage).catch((error: unknown) => {
      // A table that could not be read is read again at the next question.
      normsOf.delete(storage);
      throw error;
    });
    normsOf.set(storage, norms);
  }
  return norms;
}

async function readInverseNorms(storage: GraphStorage): Promise<Float32Array> {
  const norms = new Float32Array(storage.numNodes);
  for await (const { start, count, rows } of storage.tiles())
    norms.set(inverseLengths(rows, rows.length / Math.max(count, 1)).subarray(0, count), start);
  return norms;
}

function inverseLengths(rows: Float32Array, width: number): Float32Array {
  const count = rows.length / width;
  const lengths = new Float32Array(count);
  kernels().pairScores(scoreCode.dot, rows, rows, lengths, count, width);
  for (let i = 0; i < count; i++) lengths[i] = lengths[i] > 0 ? 1 / Math.sqrt(lengths[i]) : 0;
  return lengths;
}

function normalized(rows: Float32Array, width: number): Float32Array {
  const lengths = inverseLengths(rows, width);
  return rows.map((x, i) => x * lengths[Math.floor(i / width)]);
}
