/**
 * Probabilities of edges from the scores of a link model, fitted to validation edges and to the same edges with one end
 * replaced by a random candidate. A probability is that of a true edge rather than such a replacement, if both are equally
 * likely beforehand. Each direction has its own scale, and so has each relation with enough validation edges.
 */
import type { EdgeList } from '../../sample/one-hop-sampler.js';
import type { LinkPredictionModel, OpenedGraphRun } from '../../train/index.js';
import { positionIn } from '../../train/tasks/links/candidates.js';
import { Random } from '../../util/philox.js';
import { type ScoredEdges, scoreEdges } from '../top-nodes.js';
import { fitPlatt, type Platt, probabilityOf } from './platt.js';

type Direction = 'tail' | 'head';

/** Fewest validation edges: fewer would give arbitrary probabilities. */
const fewestEdges = 20;
/** Fewest validation edges of a relation with a scale of its own. */
const fewestOfRelation = 100;
/** Validation edges that are used; more would change the two parameters of a scale very little. */
const mostEdges = 20_000;
/** Attempts to draw an end that makes no true edge. */
const attempts = 20;

/** Returns whether a run has enough validation edges. */
export function canCalibrate({ kind, storage }: OpenedGraphRun): boolean {
  return kind === 'links' && storage.getNumEdges('validation') >= fewestEdges;
}

export class LinkCalibration {
  readonly #scales: Readonly<Record<Direction, DirectionScales>>;

  private constructor(scales: Readonly<Record<Direction, DirectionScales>>) {
    this.#scales = scales;
  }

  static async fit(run: OpenedGraphRun): Promise<LinkCalibration> {
    const edges = await validationEdges(run);
    return new LinkCalibration({
      tail: await fitDirection(run, edges, 'tail'),
      head: await fitDirection(run, edges, 'head'),
    });
  }

  /** @param want the end that the score predicts; `score` predicts tails. */
  probability(score: number, relation: number | null, want: Direction = 'tail'): number {
    const { all, byRelation } = this.#scales[want];
    return probabilityOf(byRelation.get(relation ?? 0) ?? all, score);
  }
}

interface DirectionScales {
  readonly all: Platt;
  readonly byRelation: ReadonlyMap<number, Platt>;
}

/** Returns the validation edges, or as many of them at equal distances. */
async function validationEdges({ storage }: OpenedGraphRun): Promise<ScoredEdges> {
  const split = storage.split('validation');
  const total = split?.numEdges ?? 0;
  const { src, dst, relations = null } = (await split?.read(0, total)) ?? noEdges;
  const count = Math.min(total, mostEdges);
  const pick = (values: Int32Array): Int32Array =>
    Int32Array.from({ length: count }, (_, i) => values[Math.floor((i * total) / count)]);
  return { src: pick(src), dst: pick(dst), relations: relations === null ? null : pick(relations) };
}

const noEdges: EdgeList = { src: new Int32Array(0), dst: new Int32Array(0) };

async function fitDirection(
  run: OpenedGraphRun,
  edges: ScoredEdges,
  want: Direction,
): Promise<DirectionScales> {
  const { kept, ends } = await drawEnds(run, edges, want);
  const take = (values: Int32Array): Int32Array => kept.map((i) => values[i]);
  const relations = edges.relations === null ? null : take(edges.relations);
  const [src, dst] = [take(edges.src), take(edges.dst)];
  const asSource = want === 'head' && (run.model as LinkPredictionModel).decoder.bothDirections;
  const direction = asSource ? 'lhs' : 'rhs';
  const positive = await scoreEdges(run, { src, dst, relations }, { direction });
  const replaced = want === 'tail' ? { src, dst: ends, relations } : { src: ends, dst, relations };
  const negative = await scoreEdges(run, replaced, { direction });
  const byRelation = new Map<number, Platt>();
  for (const [relation, places] of placesByRelation(relations)) {
    if (places.length < fewestOfRelation) continue;
    const scale = fitPlatt(
      places.map((i) => positive[i]),
      places.map((i) => negative[i]),
    );
    if (scale.slope > 0) byRelation.set(relation, scale);
  }
  return { all: fitPlatt(positive, negative), byRelation };
}

function placesByRelation(relations: Int32Array | null): Map<number, number[]> {
  const places = new Map<number, number[]>();
  for (const [i, relation] of (relations ?? []).entries()) {
    const list = places.get(relation) ?? [];
    places.set(relation, list);
    list.push(i);
  }
  return places;
}

/** Draws an end for each edge that makes no true edge; edges without one are left out. */
async function drawEnds(
  { storage, config }: OpenedGraphRun,
  { src, dst, relations }: ScoredEdges,
  want: Direction,
): Promise<{ readonly kept: Int32Array; readonly ends: Int32Array }> {
  const random = new Random(config.model.random_seed, want === 'tail' ? 0 : 1);
  const candidates = await storage.candidates();
  const { destinations, sources } = await storage.trueEnds({ src, dst, relations });
  const known = want === 'tail' ? destinations : sources;
  const [kept, ends]: [number[], number[]] = [[], []];
  for (let i = 0; i < src.length; i++) {
    const among = candidates.of(relations?.[i] ?? 0, want);
    const others = known.ids.subarray(known.offsets[i], known.offsets[i + 1]);
    for (let attempt = 0; attempt < attempts; attempt++) {
      const end = among === null ? random.nextInt(storage.numNodes) : among[random.nextInt(among.length)];
      if (positionIn(others, end) >= 0) continue;
      kept.push(i);
      ends.push(end);
      break;
    }
  }
  return { kept: Int32Array.from(kept), ends: Int32Array.from(ends) };
}
