/**
 * Ranks of held-out hypernyms among all synsets of their part of speech, by the trained model and by a baseline without
 * learning: the words of a definition are looked up among the words of the candidates.
 */
import { RankCounter } from '../../gnn/rank-counter.js';
import { rowsOf } from '../../predict/top-nodes.js';
import { fromTypedArray, noGrad, scope } from '../../tensor/index.js';
import type { LinkPredictionModel, OpenedGraphRun } from '../../train/index.js';

/** Held-out edges of one relation. */
export interface HeldOut {
  readonly relation: number;
  readonly heads: Int32Array;
  readonly tails: Int32Array;
}

export interface RankSummary {
  readonly mrr: number;
  readonly 'hits@1': number;
  readonly 'hits@10': number;
}

export async function heldOutEdges({ dataset }: OpenedGraphRun, relation: number): Promise<HeldOut> {
  const edges = await dataset.readEdges('test');
  const rows = Int32Array.from({ length: edges.length / 3 }, (_, i) => 3 * i).filter(
    (i) => edges[i + 1] === relation,
  );
  return { relation, heads: rows.map((i) => edges[i]), tails: rows.map((i) => edges[i + 2]) };
}

/** Returns the part of speech of each synset, from its name: n, v, a, s or r. */
export async function partsOfSpeech({ dataset }: OpenedGraphRun): Promise<string[]> {
  const names = await dataset.nodeNames();
  return Array.from({ length: dataset.stats.num_nodes }, (_, id) => names.nameOf(id).split('.').at(-2) ?? '');
}

/** Returns the other known tails of each edge, which are not ranked. */
async function knownTails(
  { storage }: OpenedGraphRun,
  { relation, heads, tails }: HeldOut,
): Promise<Int32Array[]> {
  const index = await storage.filterIndex();
  const { offsets, ids } = index.lists(heads, new Int32Array(heads.length).fill(relation), true);
  return Array.from(heads, (_, i) => ids.slice(offsets[i], offsets[i + 1]).filter((id) => id !== tails[i]));
}

/** Ranks the held-out tails by the model. */
export async function modelRanks(
  run: OpenedGraphRun,
  edges: HeldOut,
  parts: readonly string[],
): Promise<RankSummary> {
  const { decoder } = run.model as LinkPredictionModel;
  const known = await knownTails(run, edges);
  const ranks: number[] = [];
  for (const part of new Set(parts)) {
    const asked = Int32Array.from(edges.heads.keys()).filter((i) => parts[edges.tails[i]] === part);
    if (asked.length === 0) continue;
    const candidates = Int32Array.from(parts.keys()).filter((id) => parts[id] === part);
    const position = new Map(Array.from(candidates, (id, i) => [id, i]));
    const [heads, all] = [
      await rowsOf(
        run,
        asked.map((i) => edges.heads[i]),
      ),
      await rowsOf(run, candidates),
    ];
    const lists = Array.from(asked, (i) =>
      [...known[i], edges.heads[i]].flatMap((id) => position.get(id) ?? []).sort((a, b) => a - b),
    );
    noGrad(() =>
      scope(() => {
        const rows = fromTypedArray(all.rows, [candidates.length, all.width]);
        const src = fromTypedArray(heads.rows, [asked.length, heads.width]);
        const relations = new Int32Array(asked.length).fill(edges.relation);
        const [{ query }] = decoder.sides({ src, dst: src, relations, rows });
        const targetIds = asked.map((i) => position.get(edges.tails[i]) as number);
        const target = fromTypedArray(gather(all, targetIds), [asked.length, all.width]);
        const filter = { offsets: offsetsOf(lists), ids: Int32Array.from(lists.flat()) };
        const counter = new RankCounter(decoder.comparator, query, { target, targetIds, filter });
        counter.add(rows, 0);
        const { greater, equal } = counter.counts();
        for (const [i, more] of greater.entries()) ranks.push(1 + more + equal[i] / 2);
      }),
    );
  }
  return summarize(ranks);
}

/**
 * Ranks the held-out tails without learning: a candidate's score is the weight of the words that its name shares with the
 * start of the definition, and candidates with equal scores are ordered by their number of known edges.
 */
export async function baselineRanks(
  run: OpenedGraphRun,
  edges: HeldOut,
  parts: readonly string[],
): Promise<RankSummary | null> {
  const text = await run.dataset.readText();
  const [names, genus] = ['words', 'genus'].map((name) => text?.vocabulary.columns.indexOf(name) ?? -1);
  if (text === null || names < 0 || genus < 0) return null;
  const { matrix, columns } = { matrix: text.matrix(), columns: text.vocabulary.columns.length };
  const { offsets, indices } = matrix.adjacency;
  const withWord = new Map<number, { readonly id: number; readonly weight: number }[]>();
  const entries = function* (id: number, column: number): Generator<readonly [word: number, weight: number]> {
    const row = id * columns + column;
    for (let p = offsets[row]; p < offsets[row + 1]; p++) yield [indices[p], matrix.values[p]];
  };
  for (let id = 0; id < parts.length; id++)
    for (const [word, weight] of entries(id, names)) {
      const list = withWord.get(word);
      if (list === undefined) withWord.set(word, [{ id, weight }]);
      else list.push({ id, weight });
    }
  const popularity = await timesUsed(run, edges.relation, parts.length);
  const known = await knownTails(run, edges);
  const ranks = Array.from(edges.heads, (head, i) => {
    const scores = Float64Array.from(popularity);
    for (const [word, weight] of entries(head, genus))
      for (const candidate of withWord.get(word) ?? []) scores[candidate.id] += weight * candidate.weight;
    const skipped = new Set([...known[i], head]);
    const tail = edges.tails[i];
    let [greater, equal] = [0, 0];
    for (let id = 0; id < scores.length; id++) {
      if (id === tail || parts[id] !== parts[tail] || skipped.has(id)) continue;
      if (scores[id] > scores[tail]) greater++;
      else if (scores[id] === scores[tail]) equal++;
    }
    return 1 + greater + equal / 2;
  });
  return summarize(ranks);
}

/** Returns, for each node, how often it is the tail of the relation in training, as a small number that only breaks ties. */
async function timesUsed(
  { dataset }: OpenedGraphRun,
  relation: number,
  numNodes: number,
): Promise<Float64Array> {
  const times = new Float64Array(numNodes);
  const train = await dataset.readEdges('train');
  for (let i = 0; i < train.length; i += 3) if (train[i + 1] === relation) times[train[i + 2]] += 1e-6;
  return times;
}

function gather(
  { rows, width }: { readonly rows: Float32Array; readonly width: number },
  ids: Int32Array,
): Float32Array {
  const out = new Float32Array(ids.length * width);
  for (const [i, id] of ids.entries()) out.set(rows.subarray(id * width, (id + 1) * width), i * width);
  return out;
}

function offsetsOf(lists: readonly (readonly number[])[]): Int32Array {
  const offsets = new Int32Array(lists.length + 1);
  for (const [i, list] of lists.entries()) offsets[i + 1] = offsets[i] + list.length;
  return offsets;
}

function summarize(ranks: readonly number[]): RankSummary {
  const mean = (value: (rank: number) => number): number =>
    ranks.reduce((sum, rank) => sum + value(rank), 0) / Math.max(1, ranks.length);
  return {
    mrr: mean((rank) => 1 / rank),
    'hits@1': mean((rank) => (rank <= 1 ? 1 : 0)),
    'hits@10': mean((rank) => (rank <= 10 ? 1 : 0)),
  };
}
