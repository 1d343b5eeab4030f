/** fitLinks, fitNodes and fitEvents: data of a program in, a predictor that answers by its names out. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MultiDirectedGraph } from 'graphology';
import { fitEvents, fitLinks, fitNodes, openModel } from 'skein/predict';
import { Output } from 'skein/train';
import { afterAll, describe, expect, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'fit-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** People of 4 teams: a person's skills and city follow from the team. */
const facts: [string, string, string][] = [];
for (let i = 0; i < 60; i++) {
  const team = i % 4;
  facts.push([`person ${i}`, 'works in', `team ${team}`]);
  facts.push([`person ${i}`, 'lives in', `city, ${team % 2}`]);
  for (let k = 0; k < 3; k++) facts.push([`person ${i}`, 'has skill', `skill ${team * 4 + ((i + k) % 4)}`]);
}
const short = { epochs: 20, seed: 3 };

describe('fitLinks', () => {
  test('learns triples and answers by the names of the program', async () => {
    const model = await fitLinks(facts, short);
    expect(model.kind).toBe('links');
    // Guessing among 82 nodes has an MRR of about 0.06.
    expect(model.metrics.test.mrr).toBeGreaterThan(0.3);
    const [answers] = await model.rank([{ head: 'person 0', relation: 'works in' }], {
      k: 1,
      includeKnown: true,
    });
    expect(answers).toHaveLength(1);
    const [right, wrong] = await model.score([
      { head: 'person 0', relation: 'lives in', tail: 'city, 0' },
      { head: 'person 0', relation: 'lives in', tail: 'skill 5' },
    ]);
    expect(right).toBeGreaterThan(wrong);
    await model.close();
  });

  test('objects, files and a graphology graph give the model of the tuples, bit for bit', async () => {
    const graph = new MultiDirectedGraph();
    for (const [head, relation, tail] of facts) {
      graph.mergeNode(head);
      graph.mergeNode(tail);
      graph.addEdge(head, tail, { kind: relation });
    }
    const file = join(folder, 'facts.tsv');
    writeFileSync(file, facts.map((fact) => `${fact.join('\t')}\n`).join(''));
    const options = { ...short, epochs: 5 };
    const metrics: unknown[] = [];
    for (const model of [
      await fitLinks(facts, options),
      await fitLinks(
        facts.map(([head, relation, tail]) => ({ head, relation, tail })),
        options,
      ),
      await fitLinks(graph, { ...options, relation: 'kind' }),
      await fitLinks(file, options),
    ]) {
      metrics.push(model.metrics.test, (await model.embed(['person 7']))[0]);
      await model.close();
    }
    for (const k of [1, 2, 3]) expect(metrics.slice(2 * k, 2 * k + 2)).toEqual(metrics.slice(0, 2));
  });

  test('edges without relations, and numbers as names', async () => {
    const ring = Array.from({ length: 60 }, (_, i): [number, number] => [i, (i + 1) % 60]);
    const model = await fitLinks(ring, { epochs: 5 });
    const [answers] = await model.rank([{ head: 7 }], { k: 2 });
    expect(answers).toHaveLength(2);
    await expect(model.rank([{ head: 7 }], { k: 0 })).rejects.toThrow(/rank: .* for k, got 0/);
    await expect(model.rank([{ head: '7', relation: 'next' }])).rejects.toThrow(/relation/);
    await model.close();
  });

  test('a directory keeps the run for later; without one nothing is left behind', async () => {
    const directory = join(folder, 'kept');
    const model = await fitLinks(facts, { epochs: 5, directory });
    const row = (await model.embed(['person 1']))[0];
    await model.close();
    const again = await openModel(directory);
    expect((await again.embed(['person 1']))[0]).toEqual(row);
    await again.close();
    await expect(fitLinks(facts, { directory })).rejects.toThrow(/expected an empty or new directory/);

    const temporary = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('skein-fit-'));
    const before = temporary();
    const gone = await fitLinks(facts, { epochs: 5 });
    expect(temporary().length).toBe(before.length + 1);
    await gone.close();
    await gone.close();
    expect(temporary()).toEqual(before);
    await expect(gone.embed(['person 1'])).rejects.toThrow(
      /embed: expected an open model, got one that was closed/,
    );

    const failed = join(folder, 'failed');
    await expect(fitLinks(facts, { directory: failed, config: { 'training.x': 1 } })).rejects.toThrow(
      /training.x/,
    );
    expect(readdirSync(failed)).toEqual([]);
  });

  test('prints nothing unless it is given an output', async () => {
    const lines: string[] = [];
    const sink = { write: (line: string) => lines.push(line) > 0 };
    const model = await fitLinks(facts, { epochs: 5, output: new Output({ stdout: sink, stderr: sink }) });
    await model.close();
    expect(lines.join('')).toMatch(/epoch 5 .*loss/);
    expect(lines.join('')).toMatch(/mrr/);
  });

  test('columns of a file by name', async () => {
    const file = join(folder, 'named.csv');
    writeFileSync(file, `since,a,b,c\n${facts.map(([h, r, t]) => `2020,${h},${r},"${t}"\n`).join('')}`);
    const model = await fitLinks(file, { epochs: 5, columns: { head: 'a', relation: 'b', tail: 'c' } });
    expect(await model.score([{ head: 'person 1', relation: 'lives in', tail: 'city, 1' }])).toHaveLength(1);
    await model.close();
  });

  test.each([
    [[], /at least one entry/],
    [
      [
        ['a', 'b'],
        ['a', 'r', 'b'],
      ],
      /expected no relation for edges\[1\]/,
    ],
    [[['a', 'r', 'b'], { head: 'a', tail: 'b' }], /expected a relation for edges\[1\]/],
    [[['a', 'r', '']], /edges\[0\] tail/],
    [[['a', 'r', 'x\ny']], /edges\[0\] tail/],
    [[['a', Number.NaN, 'b']], /edges\[0\] relation/],
    [[null], /edges\[0\]/],
    [[['a', 'r', 'b', 5]], /expected \[head, relation, tail\].* for edges\[0\], got 4 entries/],
    [[{ from: 'a', to: 'b' }], /an object with head and tail for edges\[0\], got the fields from, to/],
    [[{ head: 'a', tail: 'b', time: 3 }], /Fields that are used: head, tail, relation; leave out time\./],
    [[['a', 'r', 'b']], /expected at least 20 edges/],
    [7, /expected an array, a graphology graph or the path of a file for edges/],
    [join(folder, 'missing.tsv'), /missing\.tsv/],
  ])('rejects %j', async (edges, message) => {
    await expect(fitLinks(edges as never, { epochs: 1 })).rejects.toThrow(message);
  });

  test('rejects options it does not know, and configuration keys that do not exist', async () => {
    await expect(fitLinks(facts, { epoch: 5 } as never)).rejects.toThrow(/Did you mean epochs\?/);
    await expect(fitLinks(facts, { epochs: 0 })).rejects.toThrow(/epochs/);
    await expect(fitLinks(facts, { relation: 'kind' })).rejects.toThrow(/graphology/);
    await expect(fitLinks(facts, { config: { 'training.batchsize': 5 } })).rejects.toThrow(/batch_size/);
    await expect(fitLinks(facts, { config: { 'storage.model_dir': 'x' } })).rejects.toThrow(
      /Set the location with directory/,
    );
    await expect(fitLinks(facts, { split: [0.9, 0.1] as never })).rejects.toThrow(/three positive fractions/);
    await expect(fitLinks(facts, { header: true })).rejects.toThrow(/the path of a file/);
  });
});

describe('fitNodes', () => {
  /** Two communities; features tell them apart badly, edges well. Every tenth node has no class. */
  const nodes = Array.from({ length: 120 }, (_, i) => ({
    id: `node ${i}`,
    age: i % 7 === 0 ? null : 30 + (i % 2) + (i % 5),
    country: ['US', 'DE', 'PT'][i % 3],
    segment: i % 10 === 0 ? undefined : ['loyal', 'new'][i % 2],
  }));
  const edges = Array.from({ length: 480 }, (_, i): [string, string] => [
    `node ${i % 120}`,
    `node ${(i + 2 * (1 + (i % 11))) % 120}`,
  ]);
  const options = { label: 'segment', epochs: 30, seed: 2 };

  test('classifies by name, unlabelled nodes too', async () => {
    const model = await fitNodes({ nodes, edges }, options);
    expect(model.kind).toBe('nodes');
    expect([...model.classes].sort()).toEqual(['loyal', 'new']);
    expect(model.metrics.test.accuracy).toBeGreaterThan(0.8);
    const found = await model.classify(['node 0', 'node 1']);
    expect(found.map((one) => [one.name, one.class])).toEqual([
      ['node 0', 'loyal'],
      ['node 1', 'new'],
    ]);
    for (const { probabilities } of found) expect(probabilities[0] + probabilities[1]).toBeCloseTo(1, 5);
    await model.close();
  });

  test('a graphology graph and files give the same model', async () => {
    const graph = new MultiDirectedGraph();
    for (const { id, ...attributes } of nodes) graph.addNode(id, attributes);
    for (const [source, target] of edges) graph.addEdge(source, target);
    const nodeFile = join(folder, 'nodes.csv');
    const edgeFile = join(folder, 'edges.csv');
    const lines = nodes.map((n) => `${n.id},${n.age ?? ''},${n.country},${n.segment ?? ''}\n`);
    writeFileSync(nodeFile, `id,age,country,segment\n${lines.join('')}`);
    writeFileSync(edgeFile, `source,target\n${edges.map((edge) => `${edge.join(',')}\n`).join('')}`);
    const probabilities: unknown[] = [];
    for (const source of [{ nodes, edges }, graph, { nodes: nodeFile, edges: edgeFile }]) {
      const model = await fitNodes(source, { ...options, epochs: 3 });
      probabilities.push((await model.classify(['node 10']))[0].probabilities);
      await model.close();
    }
    expect(probabilities[1]).toEqual(probabilities[0]);
    expect(probabilities[2]).toEqual(probabilities[0]);
  });

  test('rejects wrong input', async () => {
    const fit = (source: unknown, given: object = options): Promise<unknown> =>
      fitNodes(source as never, given as never);
    await expect(fit({ nodes, edges }, {})).rejects.toThrow(/the field that holds the class for label/);
    await expect(fit({ nodes, edges }, { label: 'color' })).rejects.toThrow(/at least 3 nodes with a class/);
    await expect(fit({ nodes: [...nodes, nodes[0]], edges })).rejects.toThrow(/different names/);
    await expect(fit({ nodes, edges: [['node 0']] })).rejects.toThrow(
      /\[source, target\] .* for edges\[0\], got 1 entries/,
    );
    await expect(fit({ nodes: [{ name: 'x' }], edges })).rejects.toThrow(
      /the field id for nodes\[0\], got the fields name/,
    );
    await expect(fit({ nodes: [{ ...nodes[0], tags: ['a'] }], edges })).rejects.toThrow(/nodes\[0\]\.tags/);
    const changed = (change: object): Promise<unknown> =>
      fit({ nodes: [{ ...nodes[1], ...change }, ...nodes.slice(2)], edges });
    await expect(changed({ segment: 'NA' })).rejects.toThrow(/It stands for a missing value/);
    await expect(changed({ segment: ' new' })).rejects.toThrow(/nodes\[0\]\.segment/);
    await expect(changed({ segment: { a: 1 } })).rejects.toThrow(/nodes\[0\]\.segment/);
    await expect(changed({ age: 'old' })).rejects.toThrow(/nodes\[1\]\.age/);
    await expect(changed({ ' age': 3 })).rejects.toThrow(/the name of a field of nodes\[0\]/);
    await expect(fit(null)).rejects.toThrow(/nodes and edges, or a graphology graph/);
  });
});

describe('fitEvents', () => {
  const events = Array.from({ length: 400 }, (_, i): [string, string, number] => [
    `user ${i % 20}`,
    `item ${(i % 20) % 8}`,
    1000 + i,
  ]);
  const options = {
    epochs: 1,
    seed: 2,
    config: { 'memory.dim_out': 16, 'gnn.dim_out': 16, 'train.batch_size': 50 },
  };

  test('ranks destinations by name, and takes further events', async () => {
    const model = await fitEvents(events, options);
    expect(model.kind).toBe('events');
    expect(model.metrics.test.ap).toBeGreaterThan(0.5);
    const before = await model.score([{ head: 'user 3', tail: 'item 6' }]);
    await model.append([{ head: 'user 3', tail: 'item 6', time: new Date(2_000_000) }]);
    const after = await model.score([{ head: 'user 3', tail: 'item 6' }]);
    expect(after[0]).not.toBe(before[0]);
    const [answers] = await model.rank([{ head: 'user 3' }], { k: 2 });
    expect(answers).toHaveLength(2);
    await model.close();
  });

  test('refuses events out of order, from the far future and with new names', async () => {
    const start = 1_700_000_000;
    const model = await fitEvents(
      events.map(([head, tail], i) => [head, tail, start + i] as const),
      { seed: 2, epochs: 1 },
    );
    const event = (time: number, more = {}) => ({ head: 'user 3', tail: 'item 6', time, ...more });
    const refusal = (...given: object[]) =>
      model.append(given as never).then(
        () => '',
        (error: Error) => error.message,
      );
    // Milliseconds in place of seconds, which would make every right event late.
    expect(await refusal(event(start + 500), event(1000 * start))).toMatch(
      /^append: expected a time of at most [\d.]+ for events\[1\]\.time, got 1700000000000\. Times are seconds since 1970, and events may be up to 30 days ahead of the clock\. Divide milliseconds by 1000\.$/,
    );
    expect(await refusal(event(start + 500), event(start + 499))).toBe(
      'append: expected events in order of time for events[1].time, got 1700000499 after 1700000500. Sort the events. A stream of openStream takes late ones within its lateness.',
    );
    expect(await refusal(event(5))).toContain('for events[0].time, got 5 after 1700000399. Sort the events.');
    expect(await refusal(event(Number.NaN))).toBe(
      'append: expected a finite number for events[0].time, got NaN.',
    );
    expect(await refusal(event(start + 500, { tail: 'itm 6' }))).toMatch(
      /^append: expected a destination of the stream for events\[0\]\.tail, got "itm 6"\. Did you mean item 6.*\? A stream of openStream takes new nodes\.$/,
    );
    await expect(model.score({ head: 'usr 3', tail: 'item 6' })).rejects.toMatchObject({
      details: { name: 'usr 3', suggestions: expect.arrayContaining(['user 3']) },
    });
    await model.append([event(start + 500), event(Date.now() / 1000 + 20 * 86_400)]);
    await model.close();
  });

  test('bounds the time of events in milliseconds, and in an unknown unit', async () => {
    const fit = (unit: number, start: number) =>
      fitEvents(
        events.map(([head, tail], i) => [head, tail, start + unit * i] as const),
        { seed: 2, epochs: 1 },
      );
    const event = { head: 'user 3', tail: 'item 6' };
    const millis = await fit(1000, 1_700_000_000_000);
    await millis.append([{ ...event, time: Date.now() + 20 * 86_400_000 }]);
    await expect(millis.append([{ ...event, time: Date.now() + 60 * 86_400_000 }])).rejects.toThrow(
      'Times are milliseconds since 1970',
    );
    await millis.close();
    const steps = await fit(1, 0);
    await expect(steps.append([{ ...event, time: 1_700_000_000 }])).rejects.toThrow(
      'expected a time of at most 2592399 for events[0].time, got 1700000000. Events may be up to 2592000 after the last one; check the unit of times.',
    );
    await steps.append([{ ...event, time: 2_000_000 }]);
    await steps.close();
  });

  test('without keys of a network it trains statistics of pairs', async () => {
    const model = await fitEvents(events, { seed: 2 });
    // Guessing has an average precision of 0.5.
    expect(model.metrics.test.ap).toBeGreaterThan(0.8);
    // Every user has an event every 20 seconds; that of user 3 is next at 1403.
    const edges = ['item 3', 'item 6'].map((tail) => ({ head: 'user 3', tail, time: 1403 }));
    const [right, wrong] = await model.score(edges);
    expect(right).toBeGreaterThan(wrong);
    await model.append([{ head: 'user 3', tail: 'item 6', time: 1400 }]);
    expect((await model.score(edges))[1]).not.toBe(wrong);
    await model.close();
  });

  test('events of a file with types can be appended with and without a type', async () => {
    const file = join(folder, 'typed.csv');
    const lines = events.map(
      ([head, tail, time], i) => `${head},${tail},${time},${['buy', 'view'][i % 2]}\n`,
    );
    writeFileSync(file, `source,target,time,action\n${lines.join('')}`);
    const model = await fitEvents(file, options);
    await model.append([{ head: 'user 3', tail: 'item 6', time: 2000 }]);
    await model.append([{ head: 'user 3', tail: 'item 6', time: 2001, type: 'view' }]);
    const wrong = model.append([{ head: 'user 3', tail: 'item 6', time: 2002, type: 'sell' }]);
    await expect(wrong).rejects.toThrow(/expected one of buy, view for events\[0\]\.type/);
    await model.close();
  });

  test('any order, objects with dates and a graphology graph give the same model', async () => {
    const graph = new MultiDirectedGraph();
    for (const [head, tail, at] of events) {
      graph.mergeNode(head);
      graph.mergeNode(tail);
      graph.addEdge(head, tail, { at });
    }
    const dated = events.map(([head, tail, time]) => ({ head, tail, time: new Date(time * 1000) }));
    const scores: unknown[] = [];
    for (const model of [
      await fitEvents(events, options),
      await fitEvents(dated, options),
      await fitEvents(graph, { ...options, time: 'at' }),
    ]) {
      scores.push(await model.score([{ head: 'user 1', tail: 'item 1' }]));
      await model.close();
    }
    expect(scores[1]).toEqual(scores[0]);
    expect(scores[2]).toEqual(scores[0]);
  });

  test('rejects wrong input', async () => {
    const fit = (given: unknown): Promise<unknown> => fitEvents(given as never, options);
    await expect(fit([['a', 'b', 'now']])).rejects.toThrow(/a finite number or a Date for events\[0\] time/);
    await expect(fit([['a', 'b', 1], { head: 'a', tail: 'b', time: 2, features: [1] }])).rejects.toThrow(
      /events\[1\]\.features/,
    );
    await expect(fit([{ head: 'a', time: 2 }])).rejects.toThrow(
      /head, tail and time for events\[0\], got the fields head, time/,
    );
    await expect(fit([{ head: 'a', tail: 'b', time: 2, features: 5 }])).rejects.toThrow(/features/);
    await expect(fit([['a', 'b', 1, 2]])).rejects.toThrow(/got 4 entries/);
    await expect(fit([{ head: 'a', tail: 'b', time: 2, feature: [1] }])).rejects.toThrow(
      /for events\[0\], got the fields .*Fields that are used: head, tail, time, features; leave out feature\./,
    );
    await expect(fit([])).rejects.toThrow(/at least one entry/);
    const few = 'fitEvents: expected at least 20 events to learn from and to test on for events, got 3.';
    await expect(fit(events.slice(0, 3))).rejects.toThrow(few);
    const file = join(folder, 'few.csv');
    const lines = events.slice(0, 3).map((event) => `${event.join(',')}\n`);
    writeFileSync(file, `source,target,time\n${lines.join('')}`);
    await expect(fit(file)).rejects.toThrow(few);
    writeFileSync(file, `source,relation,target\n${lines.join('')}`);
    await expect(fit(file)).rejects.toThrow(/expected a column for time .*in programs: fitLinks/);
  });

  test('names the features that an event needs, and some of the nodes', async () => {
    const file = join(folder, 'featured.csv');
    const lines = events.map(([head, tail, time], i) => `${head},${tail},${time},${i % 3},${i % 5}\n`);
    writeFileSync(file, `source,target,time,quantity,price\n${lines.join('')}`);
    const model = await fitEvents(file, { ...options, config: {} });
    const event = { head: 'user 3', tail: 'item 6', time: 2000 };
    await expect(model.append([event])).rejects.toThrow(
      'expected 2 numbers (quantity, price) for events[0].features, got [].',
    );
    await expect(model.rank({ head: 'zzzzzzzzzz' })).rejects.toThrow(
      /The model knows \d+ nodes, such as "user \d+", /,
    );
    await model.close();
  });
});
