/** Answers that see events which wait for the watermark, and leave the stream as it is. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DurableStream, openModel } from 'skein/predict';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Kind, lastTraining, laterEvents, open, requestsOf, trainedRun } from './stream-fixtures.js';

const runs = {} as Record<Kind, string>;
let folder: string;
let count = 0;

const newState = (): string => join(folder, `state ${count++}`);
const kinds: readonly Kind[] = ['statistics', 'tgn', 'baseline', 'mixer', 'jodie'];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skein-read-'));
  for (const kind of kinds) runs[kind] = await trainedRun(folder, kind);
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const users = ['user 1', 'user 5', 'user 7'];
const edges = users.map((head, i) => ({ head, tail: `item ${i}` }));

async function answers(stream: DurableStream, options: { readonly read?: 'watermark' | 'latest' } = {}) {
  return {
    scores: Array.from(await stream.score(edges, options)),
    ranked: await stream.rank(
      users.map((head) => ({ head })),
      { k: 8, ...options },
    ),
    unseen: await stream.recommend(users, { k: 8, exclude: 'seen', ...options }),
  };
}

describe.each(['statistics', 'tgn', 'baseline', 'mixer'] as const)('a stream of %s', (kind) => {
  test('answers with waiting events as if they were released, and stays the same to the bit', async () => {
    const events = laterEvents(300, 0);
    // Batches that are never full: released events are neighbours, and memory does not change.
    const size = { batchSize: 1000 };
    const asked = await open(runs[kind], newState(), { lateness: 100, ...size });
    const quiet = await open(runs[kind], newState(), { lateness: 100, ...size });
    const released = await open(runs[kind], newState(), size);
    for (const part of requestsOf(events, 60)) {
      for (const stream of [asked, quiet, released]) {
        await stream.append(part);
        await stream.settled();
      }
      const before = await answers(asked);
      expect(before).toEqual(await answers(quiet));
      const latest = await answers(asked, { read: 'latest' });
      expect(latest).toEqual(await answers(released));
      expect(latest.scores).not.toEqual(before.scores);
      expect(await answers(asked, { read: 'latest' })).toEqual(latest);
      expect(await answers(asked, { read: 'watermark' })).toEqual(before);
      expect(asked.digest()).toBe(quiet.digest());
      expect(asked.version).toBe(quiet.version);
    }
    expect(asked.status().waiting).toBeGreaterThan(100);
    await asked.flush();
    await quiet.flush();
    expect(asked.digest()).toBe(quiet.digest());
    expect(await answers(asked, { read: 'latest' })).toEqual(await answers(asked));
    for (const stream of [asked, quiet, released]) await stream.close();
  }, 60_000);

  test('is the same after snapshots and restarts between such questions', async () => {
    const events = laterEvents(200);
    const states = [newState(), newState()];
    for (const part of requestsOf(events, 50))
      for (const [i, state] of states.entries()) {
        const stream = await open(runs[kind], state, { lateness: 20 });
        await stream.append(part);
        if (i === 0) await answers(stream, { read: 'latest' });
        await stream.snapshot();
        await stream.close();
      }
    const streams = await Promise.all(states.map((state) => open(runs[kind], state, { lateness: 20 })));
    expect(streams[0].digest()).toBe(streams[1].digest());
    for (const stream of streams) await stream.close();
  }, 60_000);
});

test('a new name becomes a node when it is released, for all questions', async () => {
  const stream = await open(runs.statistics, newState(), { lateness: 10 });
  const at = (time: number, head: string, tail = 'item 1') => ({ head, tail, time: lastTraining + time });
  await stream.append([at(5, 'newcomer'), at(6, 'user 1')]);
  await expect(stream.recommend('newcomer', { read: 'latest' })).rejects.toThrow('"newcomer"');
  expect(await stream.recommend('user 1', { read: 'latest' })).toHaveLength(8);
  await stream.flush();
  expect(await stream.recommend('newcomer', { read: 'latest' })).toHaveLength(8);
  // Times are after what the answer sees.
  await stream.append([at(20, 'user 1')]);
  const edge = { ...edges[0], time: lastTraining + 15 };
  await expect(stream.score(edge, { read: 'latest' })).rejects.toThrow('a time after');
  expect(await stream.score(edge)).toEqual(expect.any(Number));
  await stream.close();
});

test('models and streams without waiting events refuse the option', async () => {
  const stream = await open(runs.jodie, newState(), { lateness: 10 });
  await expect(stream.score(edges, { read: 'latest' })).rejects.toThrow(
    'score: expected \'watermark\' for read, got "latest". This model answers from memory alone, without neighbours.',
  );
  expect(await stream.score(edges, { read: 'watermark' })).toHaveLength(3);
  await expect(stream.rank({ head: 'user 1' }, { read: 'now' as never })).rejects.toThrow(
    'rank: expected watermark or latest for read, got "now".',
  );
  await stream.close();
  const model = await openModel(runs.baseline);
  await expect(model.recommend('user 1', { read: 'latest' })).rejects.toThrow(
    'recommend: expected no option for read, got "latest". Only a stream of openStream has events that wait.',
  );
  await model.close();
});
