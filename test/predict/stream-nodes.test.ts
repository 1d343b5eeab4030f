/** Nodes that are added to a stream before an event brings them: names, features, restarts, repeated requests. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DurableStream } from 'skein/predict';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Kind, lastTraining, laterEvents, open, requestsOf, trainedRun } from './stream-fixtures.js';

const kinds = ['statistics', 'tgn', 'baseline', 'featured'] as const;
const runs = {} as Record<Kind, string>;
let folder: string;
let count = 0;

const newState = (): string => join(folder, `state ${count++}`);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skein-nodes-'));
  for (const kind of kinds) runs[kind] = await trainedRun(folder, kind);
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A copy of an open folder: what a crash leaves. */
function crashed(state: string): string {
  const copy = newState();
  cpSync(state, copy, { recursive: true });
  rmSync(join(copy, 'lock'));
  return copy;
}

const namesOf = async (stream: DurableStream, name: string): Promise<string[]> =>
  (await stream.recommend(name, { k: 30 })).map((one) => one.name);

describe.each(kinds)('a stream of %s', (kind) => {
  test('recommends added tails, and is the same after a crash and a restart', async () => {
    const state = newState();
    const stream = await open(runs[kind], state, { lateness: 5 });
    const features = kind === 'featured' ? { features: [0.1, -2, 3, 0] } : {};
    const parts = requestsOf(laterEvents(120), 30);
    await stream.append(parts[0]);
    const nodes = [
      { name: 'cocoa', side: 'tail', ...features } as const,
      { name: 'dora', side: 'head' } as const,
      { name: 'item 1', side: 'tail' } as const,
    ];
    expect(await stream.addNodes(nodes)).toEqual({ newNodes: 2 });
    expect(await stream.addNodes(nodes)).toEqual({ newNodes: 0 });
    expect(await namesOf(stream, 'dora')).toContain('cocoa');
    expect(await namesOf(stream, 'user 1')).not.toContain('dora');
    for (const part of parts.slice(1)) await stream.append(part);
    const cocoa = [{ head: 'dora', tail: 'cocoa', time: lastTraining + 70, id: 'cocoa' }];
    expect((await stream.append(cocoa)).newNodes).toBe(0);
    await stream.settled();
    const digest = stream.digest();
    const ranked = await stream.recommend('user 2', { k: 30 });
    for (const repeated of [crashed(state), state]) {
      if (repeated === state) await stream.close();
      const again = await open(runs[kind], repeated, { lateness: 5 });
      expect(again.digest()).toBe(digest);
      expect(await again.recommend('user 2', { k: 30 })).toEqual(ranked);
      expect(await again.addNodes(nodes)).toEqual({ newNodes: 0 });
      await again.flush();
      await again.close();
    }
  }, 60_000);
});

test('features count, and do not change', async () => {
  const [one, other, plain] = await Promise.all(
    [newState(), newState(), newState()].map((state) => open(runs.featured, state)),
  );
  const node = { name: 'cocoa', side: 'tail', features: [3, -2, 1, 0.1] } as const;
  await one.addNodes([node]);
  await other.addNodes([{ ...node, features: [-3, 2, 1, 0.1] }]);
  await plain.addNodes([{ name: 'cocoa', side: 'tail' }]);
  const edge = { head: 'user 1', tail: 'cocoa' };
  const scores = await Promise.all([one, other, plain].map((stream) => stream.score(edge)));
  expect(new Set(scores).size).toBe(3);
  expect(new Set([one, other, plain].map((stream) => stream.digest())).size).toBe(3);
  const sentence =
    'addNodes: expected a new name, or the features that it has, for nodes[0], got "cocoa". Add nodes before their first event.';
  await expect(one.addNodes([{ ...node, features: [0, 0, 0, 0] }])).rejects.toThrow(sentence);
  expect(await plain.addNodes([{ ...node, features: [0, 0, 0, 0] }])).toEqual({ newNodes: 0 });
  // Of two requests at once the first decides.
  const both = await Promise.allSettled(
    [1, 2].map((x) => one.addNodes([{ name: 'mint', side: 'tail', features: [x, 0, 0, 0] }])),
  );
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  for (const stream of [one, other, plain]) await stream.close();
});

test('wrong nodes are refused, and then none is added', async () => {
  const stream = await open(runs.featured, newState(), { newNodes: { limit: 2 } });
  const good = { name: 'mint', side: 'tail' } as const;
  const wrong = (...nodes: unknown[]) => expect(stream.addNodes([good, ...nodes] as never)).rejects;
  await wrong({ name: 'tea', side: 'tail', features: [1, 2] }).toThrow(
    'addNodes: expected 4 numbers for nodes[1].features, got',
  );
  await wrong({ name: 'tea', side: 'tail', features: [1, 2, 3, 1e300] }).toThrow(
    'addNodes: expected a number that 32 bits can hold for nodes[1].features[3], got 1e+300.',
  );
  await wrong({ name: 'tea' }).toThrow('Heads and tails have separate names.');
  await wrong({ name: 'tea', side: 'left' }).toThrow('expected head or tail for nodes[1].side, got "left"');
  await wrong({ side: 'tail' }).toThrow('expected a name for nodes[1].name, got undefined');
  await wrong(good).toThrow('expected each name once for nodes[1].name, got "mint"');
  await wrong({ name: 'a', side: 'tail' }, { name: 'b', side: 'tail' }).toThrow(
    'addNodes: expected at most 2 new nodes, got 3.',
  );
  await expect(stream.addNodes(null as never)).rejects.toThrow('expected a list for nodes, got null');
  expect(stream.status().newNodes).toBe(0);
  await stream.close();
  const plain = await open(runs.statistics, newState());
  await expect(plain.addNodes([{ ...good, features: [1] }])).rejects.toThrow('The model uses none of nodes.');
  await plain.close();
});

test('a name that waits becomes a node at once', async () => {
  const stream = await open(runs.statistics, newState(), { lateness: 100, newNodes: { limit: 1 } });
  const event = { head: 'dora', tail: 'item 1', time: lastTraining + 5 };
  expect((await stream.append([event])).newNodes).toBe(1);
  await expect(stream.score({ head: 'dora', tail: 'item 1' })).rejects.toThrow('dora');
  expect(await stream.addNodes([{ name: 'dora', side: 'head' }])).toEqual({ newNodes: 0 });
  const edge = { head: 'dora', tail: 'item 1' };
  expect(await stream.score(edge, { read: 'latest' })).not.toBe(await stream.score(edge));
  await stream.flush();
  expect(stream.status()).toMatchObject({ newNodes: 1, accepted: 1 });
  await stream.close();
});
