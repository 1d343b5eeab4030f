/** Promises of the runtime: nothing of the future, negatives like positives, the order of updates, and gradients. */
import { gatherRows } from 'skein/tensor';
import { describe, expect, test } from 'vitest';
import { collect, families, makeEvents, makeRig, numNodes, numUsers, scoresOf, width } from './stream.js';

describe.each(Object.entries(families))('%s', (_name, file) => {
  test('check 2: changing any event at or after t leaves every score before t, and at t, as it was, bit for bit', async () => {
    const events = makeEvents(80);
    const before = await scoresOf(makeRig(events, { file, tieGroups: true }));
    for (const cut of [1, 13, 30, 47, 71]) {
      const changed = {
        src: events.src.slice(),
        dst: events.dst.slice(),
        time: events.time.slice(),
        features: events.features.slice(),
      };
      const t = events.time[cut];
      // Ends are kept in the row that asks: a score is of a pair. Features and later pairs change.
      for (let i = 0; i < 80; i++) {
        if (events.time[i] < t) continue;
        if (events.time[i] > t) {
          changed.src[i] = (changed.src[i] + 1) % numUsers;
          changed.dst[i] = numUsers + ((changed.dst[i] - numUsers + 3) % (numNodes - numUsers));
        }
        changed.features.fill(9, i * width, (i + 1) * width);
      }
      const after = await scoresOf(makeRig(changed, { file, tieGroups: true }));
      const last = events.time.findLastIndex((time) => time <= t) + 1;
      expect(after.positive.slice(0, last)).toEqual(before.positive.slice(0, last));
      expect(after.negative.slice(0, last)).toEqual(before.negative.slice(0, last));
    }
    expect(new Set(before.positive).size).toBeGreaterThan(20);
  });

  test('check 2: an event of the same batch does not reach memory', async () => {
    const events = makeEvents(40);
    const rig = makeRig(events, { file, batchSize: 40 });
    if (rig.mailbox === null) return;
    const [batch] = await collect(rig.loader);
    expect([...batch.state!.memory.dataSync()].every((x) => x === 0)).toBe(true);
    rig.runtime.evaluate(batch);
    expect(rig.mailbox.version).toBe(1);
  });

  test('check 3: a node scored as a negative has the embedding it has as a positive, and negatives write nothing', async () => {
    const events = makeEvents(60);
    const rig = makeRig(events, { file });
    for await (const batch of rig.loader.epoch(0)) {
      const asNegative = { ...batch, dst: batch.negatives, negatives: batch.dst };
      const swapped = {
        ...asNegative,
        dstRoots: batch.negRoots,
        negRoots: batch.dstRoots,
        ...(batch.pairFeatures == null
          ? {}
          : {
              pairFeatures: gatherRows(
                batch.pairFeatures,
                [...batch.negRoots, ...batch.dstRoots].map((r) => r - 10),
              ),
            }),
      };
      const version = rig.mailbox?.version;
      const straight = rig.runtime.score(batch);
      const turned = rig.runtime.score(swapped);
      expect([...turned.positive]).toEqual([...straight.negative]);
      expect([...turned.negative]).toEqual([...straight.positive]);
      expect(rig.mailbox?.version).toBe(version);
      rig.runtime.evaluate(batch);
    }
    if (rig.mailbox === null || file.includes('neighbors')) return;
    const touched = new Set([...events.src, ...events.dst]);
    const { count } = rig.mailbox.getMail(Int32Array.from({ length: numNodes }, (_, i) => i));
    for (let node = 0; node < numNodes; node++) expect(count[node] > 0).toBe(touched.has(node));
  });

  test('check 7: the updater has a gradient from the second batch on', async () => {
    const rig = makeRig(makeEvents(40), { file });
    const updater = rig.model.memory?.updater;
    if (updater === undefined) return;
    const norms: number[] = [];
    for await (const batch of rig.loader.epoch(0)) {
      rig.runtime.train(batch);
      const sum = updater
        .parameters()
        .reduce(
          (total, p) => total + (p.grad === null ? 0 : [...p.grad.dataSync()].reduce((s, g) => s + g * g, 0)),
          0,
        );
      norms.push(sum);
    }
    if (!file.includes('empty_mail: update') && !file.includes('transformer, mailbox'))
      expect(norms[0]).toBe(0);
    for (const norm of norms.slice(1)) expect(norm).toBeGreaterThan(0);
  });
});

test('check 6: memory is zero after batch 1 and the update of batch 1’s mail after batch 2', async () => {
  const events = makeEvents(20);
  const rig = makeRig(events, { batchSize: 10 });
  const all = Int32Array.from({ length: numNodes }, (_, i) => i);
  const seen: number[][] = [];
  for await (const batch of rig.loader.epoch(0)) {
    rig.runtime.evaluate(batch);
    const { memory } = rig.mailbox!.getMemory(all);
    const rows = memory.dataSync();
    seen.push([...all].filter((node) => rows.subarray(node * 8, node * 8 + 8).some((x) => x !== 0)));
  }
  expect(seen[0]).toEqual([]);
  const ends = (from: number, to: number): Set<number> =>
    new Set([...events.src.slice(from, to), ...events.dst.slice(from, to)]);
  const again = [...ends(0, 10)].filter((node) => ends(10, 20).has(node)).sort((a, b) => a - b);
  expect(again.length).toBeGreaterThan(0);
  expect(seen[1]).toEqual(again);
});

test('check 2: order inside a moment plays no part when batches keep moments together', async () => {
  const events = makeEvents(60);
  // No node twice in a moment: which of two mails of one moment stays is decided by their order.
  const steps = events.time.map((time, i) => (i === 0 ? 0 : time - events.time[i - 1]));
  for (let i = 1, start = 0; i < 60; i++) {
    const ends = new Set([...events.src.slice(start, i), ...events.dst.slice(start, i)]);
    const again = ends.has(events.src[i]) || ends.has(events.dst[i]);
    events.time[i] = events.time[i - 1] + (steps[i] === 0 && again ? 1 : steps[i]);
    if (events.time[i] !== events.time[i - 1]) start = i;
  }
  const order = [...Array(60).keys()].sort((a, b) => events.time[a] - events.time[b] || b - a);
  expect(order.some((i, k) => i !== k)).toBe(true);
  const turned = {
    src: Int32Array.from(order, (i) => events.src[i]),
    dst: Int32Array.from(order, (i) => events.dst[i]),
    time: Float64Array.from(order, (i) => events.time[i]),
    features: Float32Array.from(order.flatMap((i) => [...events.features.slice(i * width, (i + 1) * width)])),
  };
  const first = await scoresOf(makeRig(events, { tieGroups: true }));
  const second = await scoresOf(makeRig(turned, { tieGroups: true }));
  // Negatives belong to rows, so only the events themselves are compared.
  expect(second.positive).toEqual(order.map((i) => first.positive[i]));
});
