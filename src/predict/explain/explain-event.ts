/** The past events of two nodes that the score of their next event depends on: each is left out in turn. */
import type { OnlineScorer } from '../../temporal/index.js';
import type { Tensor } from '../../tensor/index.js';
import type { OpenedEventRun } from '../../train/index.js';
import { Random } from '../../util/philox.js';
import { type AskedPair, type EventOcclusion, eventOcclusion, observedRows } from './event-occlusion.js';
import type { EventExplanation, WeightedEvent } from './explanation.js';
import { compareWeights } from './rank-correlation.js';
import type { ExplainSettings } from './settings.js';

/** Separates these draws from others of the same seed. */
const stream = 0x6f63636c;

type EventReasons = Pick<EventExplanation, 'score' | 'method' | 'events' | 'fidelity' | 'sanity'>;

/** The state must be up to date and must not change before the promise resolves. */
export async function explainEvent(
  run: OpenedEventRun,
  scorer: OnlineScorer,
  asked: AskedPair,
  settings: ExplainSettings,
): Promise<EventReasons> {
  const { k, pace, randomize, seed } = settings;
  const observed = observedRows(run, scorer);
  const rows = pastRows(scorer, observed, asked, settings.events);
  const occlusion = eventOcclusion(run, scorer, asked, observed, rows[0] ?? scorer.graph.numEvents);
  const score = occlusion.score(new Set());
  const weights = await weightsOf(occlusion, rows, settings);
  const order = Array.from(rows.keys()).sort((a, b) => weights[b] - weights[a] || rows[b] - rows[a]);
  const named = new Set(order.slice(0, k).map((i) => rows[i]));
  await pace.step();
  const others = new Set(rows.filter((row) => !named.has(row)));
  const fidelity = {
    unit: 'score' as const,
    plus: score - occlusion.score(named),
    minus: score - occlusion.score(others),
    sparsity: rows.length === 0 ? 0 : 1 - named.size / rows.length,
  };
  const { src, dst, time } = scorer.graph;
  const { nodes } = run.stream.data;
  const events = order.slice(0, k).map(
    (i): WeightedEvent => ({
      head: nodes.nameOf(src[rows[i]]),
      tail: nodes.nameOf(dst[rows[i]]),
      time: time[rows[i]],
      weight: weights[i],
    }),
  );
  const found = { score, method: occlusion.method, events, fidelity };
  if (!randomize) return found;
  const parameters = run.parts.model.parameters();
  const shuffled: EventOcclusion = {
    method: occlusion.method,
    // Shuffled and restored for each score, so that questions in between are answered by the trained model.
    score: (without) => withShuffled(parameters, seed, () => occlusion.score(without)),
  };
  return { ...found, sanity: compareWeights(weights, await weightsOf(shuffled, rows, settings)) };
}

/** Returns the latest events of either node, ascending. */
function pastRows(
  { graph }: OnlineScorer,
  observed: Int32Array,
  { src, dst, time }: AskedPair,
  most: number,
): number[] {
  const { src: from, dst: to } = graph;
  const end = graph.cutoff(time);
  const rows: number[] = [];
  for (let i = observed.length - 1; i >= 0 && rows.length < most; i--) {
    const row = observed[i];
    const isOwn = from[row] === src || to[row] === src || from[row] === dst || to[row] === dst;
    if (isOwn && row < end) rows.push(row);
  }
  return rows.reverse();
}

/** Returns how much the score falls without each event alone. */
async function weightsOf(
  occlusion: EventOcclusion,
  rows: readonly number[],
  { pace }: ExplainSettings,
): Promise<number[]> {
  const whole = occlusion.score(new Set());
  const weights: number[] = [];
  for (const row of rows) {
    await pace.step();
    weights.push(whole - occlusion.score(new Set([row])));
  }
  return weights;
}

/** Returns the result of `work`, in which the numbers of every parameter are in random order. */
function withShuffled<T>(parameters: readonly Tensor[], seed: number, work: () => T): T {
  const random = new Random(seed, stream);
  const saved = parameters.map(({ floats }) => floats.slice());
  for (const { floats } of parameters)
    for (let i = floats.length - 1; i > 0; i--) {
      const j = random.nextInt(i + 1);
      [floats[i], floats[j]] = [floats[j], floats[i]];
    }
  try {
    return work();
  } finally {
    for (const [i, { floats }] of parameters.entries()) floats.set(saved[i] as Float32Array);
  }
}
