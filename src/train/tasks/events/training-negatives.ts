/** The negatives of training events and the loss that they take part in. */

import { TemporalNegatives } from '../../../temporal/index.js';
import type { EdgeScores } from '../../../temporal/layers/edge-predictor.js';
import { rankingLoss } from '../../../temporal/ranking-loss.js';
import type { Tensor } from '../../../tensor/index.js';
import type { OpenedStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';

export interface TrainingNegatives {
  readonly amount: number;
  /** Returns the negatives of events, random ones before earlier destinations of the source. */
  draw(eventRows: Int32Array, epoch: number): Int32Array;
  /** Absent: binary cross-entropy. */
  readonly loss?: (scores: EdgeScores) => Tensor;
}

export function trainingNegatives(
  { training }: TemporalRunConfig,
  { graph, rows, split }: OpenedStream,
): TrainingNegatives {
  const { negatives: numRandom, historical_negatives: numHistorical } = training;
  const common = {
    ...{ seed: training.random_seed, trainEnd: split.trainEnd },
    // Destinations that occur later or are held out are excluded.
    pool: rows.train.map((row) => graph.dst[row]),
  };
  const random = new TemporalNegatives(graph, { ...common, strategy: 'random', amount: numRandom });
  const { pool } = random;
  // The random ones stand for all destinations, the earlier ones of the source for themselves.
  const raise = [
    ...new Array<number>(numRandom).fill(Math.log(pool.length / numRandom)),
    ...new Array<number>(numHistorical).fill(0),
  ];
  const loss =
    training.loss === 'softmax' ? { loss: (scores: EdgeScores) => rankingLoss(scores, raise) } : {};
  const drawRandom = (eventRows: Int32Array, epoch: number): Int32Array =>
    random.drawFor(eventRows, { split: 'train', epoch });
  if (numHistorical === 0) return { amount: numRandom, draw: drawRandom, ...loss };
  const historical = new TemporalNegatives(graph, {
    ...common,
    strategy: 'historical',
    amount: numHistorical,
  });
  const inPool = new Uint8Array(graph.numNodes);
  for (const node of pool) inPool[node] = 1;
  const amount = numRandom + numHistorical;
  return {
    ...{ amount, ...loss },
    draw: (eventRows, epoch) => {
      const others = drawRandom(eventRows, epoch);
      const met = historical.drawFor(eventRows, { split: 'train', epoch });
      const all = new Int32Array(eventRows.length * amount);
      for (let i = 0; i < eventRows.length; i++) {
        all.set(others.subarray(i * numRandom, (i + 1) * numRandom), i * amount);
        for (let k = 0; k < numHistorical; k++) {
          const node = met[i * numHistorical + k];
          // The source may have met nodes that are held out of training.
          all[i * amount + numRandom + k] =
            inPool[node] === 1 ? node : others[i * numRandom + (k % numRandom)];
        }
      }
      return all;
    },
  };
}
