/** The kind `pair_statistics`: pairs are scored by running statistics of the stream, without embeddings of nodes. */
import type { TemporalGraph } from '../../graph/index.js';
import { defaultRandom } from '../../tensor/random.js';
import { Random } from '../../util/philox.js';
import { choice, flag, integer, integers, type ValuesOf } from '../../util/settings.js';
import { trainingTime } from '../baselines/baseline-kind.js';
import { distinctIds } from '../event-stream.js';
import { type TemporalPlace, temporalModelKind } from '../models/model-kind.js';
import { EventStatistics, type EventStatisticsOptions } from './event-statistics.js';
import { fitScaling, groupOf, type NumberGroup } from './fit-scaling.js';
import { LatestDestinations } from './latest-destinations.js';
import { PairHead } from './pair-head.js';
import { StatisticsSteps } from './statistics-steps.js';
import { TrainingCandidates } from './training-candidates.js';

const settings = {
  hidden: integers(
    1,
    'one per hidden layer',
    [64, 32],
    'widths of the hidden layers of the head, which has a linear skip as well; empty: linear',
  ),
  historical_negatives: integer(0, 40, 'earlier destinations of the source that an event competes with'),
  random_negatives: integer(1, 32, 'other destinations that it competes with, which stand for all others'),
  recent_negatives: integer(0, 32, 'more of them, drawn among the destinations of the latest 2,048 events'),
  half_lives: integers(
    1,
    'five in all, from the shortest half-life to the longest',
    [3000, 500, 90, 20, 3],
    'half-lives of fading counts, as the fraction 1/n of the training time',
  ),
  loss: choice(
    ['softmax', 'bce'],
    'softmax',
    'softmax: an event among its competitors; bce: events and competitors one by one, for comparison',
  ),
  schedule: choice(['cosine', 'constant'], 'cosine', 'how the learning rate changes over all epochs'),
  reverse: choice(
    ['auto', 'true', 'false'],
    'auto',
    'whether pairs are described by events of the opposite direction; auto: if a training source is a destination',
  ),
  pair: flag(true, 'use numbers of the pair: when, how often and in what rhythm it met'),
  destination: flag(true, 'use numbers of the destination: popularity at five half-lives and habits'),
  related: flag(true, 'use numbers of nodes two steps away: partners in common, and which follows which'),
  source: flag(true, 'use numbers of the source: activity and habits'),
  product: flag(true, 'use products of numbers, for sources and pairs without a past'),
};

type Options = ValuesOf<typeof settings>;

export const pairStatisticsKind = temporalModelKind({
  kind: 'pair_statistics',
  doc: 'a small network on running statistics of pairs and nodes (recency, popularity, partners in common), trained to rank destinations',
  settings,
  train: { epoch: 3, lr: 0.005, batch_size: 200 },
  check({ options }) {
    const { half_lives: lives } = options;
    const isFalling = lives.every((n, i) => i === 0 || n <= lives[i - 1]);
    return lives.length === 5 && isFalling
      ? null
      : `expected five numbers that do not rise for model.half_lives, got [${lives.join(', ')}].`;
  },
  make(place) {
    const { options, graph, train } = place;
    const rows = place.trainRows ?? Int32Array.from({ length: place.trainEnd }, (_, row) => row);
    const destinations = rows.map((row) => graph.dst[row]);
    const pool = distinctIds('pair_statistics', destinations, graph.numNodes);
    const latest = new LatestDestinations(rows, destinations, graph.numNodes);
    const sizes = statisticsOptions(place, rows);
    const state = new EventStatistics(sizes);
    const head = new PairHead(state.width, options.hidden);
    const amounts = {
      historical: options.historical_negatives,
      random: options.random_negatives,
      recent: options.recent_negatives,
    };
    const draws = new Random(defaultRandom().nextUint32(), drawStream);
    const candidates = new TrainingCandidates(pool, latest, graph.numNodes, amounts, draws);
    const uses = (position: number): boolean => usesGroup(options, groupOf(position));
    const total = train.epoch * rows.length;
    const steps = {
      ...{ head, state, candidates, loss: options.loss },
      fit: () => fitScaling(new EventStatistics(sizes), graph, rows, candidates, uses),
      rate: (trained: number) => (options.schedule === 'constant' ? 1 : cosine(trained / total)),
    };
    return { model: head, state, needs: {}, steps: (training) => new StatisticsSteps(steps, training) };
  },
});

/** Separates these draws from others with the same seed. */
const drawStream = 0x70616972;

/** From 1 to a hundredth. */
function cosine(progress: number): number {
  return 0.01 + 0.99 * 0.5 * (1 + Math.cos(Math.PI * Math.min(1, progress)));
}

function usesGroup(options: Options, group: NumberGroup): boolean {
  return group === 'reverse' || options[group];
}

function statisticsOptions(place: TemporalPlace<Options>, rows: Int32Array): EventStatisticsOptions {
  const { options, graph } = place;
  const duration = trainingTime(place) > 0 ? trainingTime(place) : 1;
  return {
    numNodes: graph.numNodes,
    halfLives: options.half_lives.map((n) => duration / n),
    timeUnit: duration / 1e6,
    reverse: options.reverse === 'auto' ? sharesNodes(graph, rows) : options.reverse === 'true',
  };
}

/** Returns whether a source of training events is also a destination of some. */
function sharesNodes({ src, dst, numNodes }: TemporalGraph, rows: Int32Array): boolean {
  const isSource = new Uint8Array(numNodes);
  for (const row of rows) isSource[src[row]] = 1;
  return rows.some((row) => isSource[dst[row]] === 1);
}
