/** The loss and the negatives of training on events. */
import { writeFileSync } from 'node:fs';
import { ConfigError } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { assembleTemporal } from '#internal/train/tasks/events/assemble.js';
import { openStream } from '#internal/train/tasks/events/open-stream.js';
import { loadTemporalConfig } from '#internal/train/tasks/events/run-config.js';
import { trainingNegatives } from '#internal/train/tasks/events/training-negatives.js';
import { jodieText, temporalRun, writeTemporalConfig } from './temporal-files.js';
import { scratch } from './tiny.js';

const folder = scratch();
const events = `${folder()}.csv`;
writeFileSync(events, jodieText(360));
const ranking = ['training.loss=softmax', 'training.negatives=3', 'training.historical_negatives=2'];

function config(): string {
  const at = folder();
  return writeTemporalConfig(`${at}.yaml`, 'tgn', events, at);
}

describe('training.loss: softmax', () => {
  test('learns', async () => {
    const { config: run } = loadTemporalConfig(config(), [...ranking, 'gnn.pair_depth=8']);
    const { runtime, loaders, state } = assembleTemporal(run, await openStream(run));
    const losses: number[] = [];
    for (let epoch = 0; epoch < 4; epoch++) {
      state?.reset();
      let sum = 0;
      for await (const batch of loaders.train.epoch(epoch))
        sum += runtime.train(batch).loss * batch.src.length;
      losses.push(sum / loaders.train.numEvents);
    }
    // Six equal candidates, of which three stand for all ten destinations.
    expect(losses[0]).toBeLessThan(1.5 * Math.log(13));
    expect(losses[3]).toBeLessThan(0.9 * losses[0]);
  });

  test('a run evaluates as with the other loss', async () => {
    const [ranked, plain] = [await temporalRun(config(), ranking), await temporalRun(config())];
    expect(Object.keys(ranked.test)).toEqual(Object.keys(plain.test));
    expect(ranked.test['ap']).not.toBe(plain.test['ap']);
  });

  test('negatives are random destinations, then earlier ones of the source; none is held out', async () => {
    const { config: run } = loadTemporalConfig(config(), ranking);
    const stream = await openStream(run);
    const { graph, rows } = stream;
    const { amount, draw, loss } = trainingNegatives(run, stream);
    const drawn = draw(rows.train, 1);
    expect(amount).toBe(5);
    expect(loss).toBeDefined();
    expect(drawn.length).toBe(5 * rows.train.length);
    const known = new Set(rows.train.map((row) => graph.dst[row]));
    expect(drawn.every((node) => known.has(node))).toBe(true);
    let earlier = 0;
    for (const [i, row] of rows.train.entries()) {
      const met = new Set<number>();
      for (let k = 0; graph.time[k] < graph.time[row]; k++)
        if (graph.src[k] === graph.src[row]) met.add(graph.dst[k]);
      if (met.has(drawn[5 * i + 3]) && drawn[5 * i + 3] !== graph.dst[row]) earlier++;
    }
    // Sources without another earlier destination get random ones.
    expect(earlier).toBeGreaterThan(rows.train.length / 2);
    expect(draw(rows.train, 1)).toEqual(drawn);
    expect(draw(rows.train, 2)).not.toEqual(drawn);
  });

  test('is rejected where a model has its own', async () => {
    const file = `${folder()}.yaml`;
    writeFileSync(file, `dataset: { path: ${events} }\nmodel: pair_statistics\n`);
    for (const override of ['training.loss=softmax', 'training.historical_negatives=1']) {
      const { config: run } = loadTemporalConfig(file, [override]);
      const stream = await openStream(run);
      expect(() => assembleTemporal(run, stream)).toThrow(ConfigError);
      expect(() => assembleTemporal(run, stream)).toThrow(/training\.\w+ .* model\.kind pair_statistics/);
    }
  });
});
