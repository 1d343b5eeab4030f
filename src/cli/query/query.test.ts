/** `query` and `recommend` on runs of every kind, from options, files and packed models. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fitEvents, fitLinks, fitNodes, openModel } from '../../predict/index.js';
import { run } from '../program.js';
import { captureOutput } from '../testing/capture-output.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-query-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const printed = captureOutput();

type Event = Readonly<Record<string, unknown>>;
interface Ranked {
  readonly name: string;
  readonly score: number;
}

async function events(...args: string[]): Promise<Event[]> {
  printed.clear();
  const code = await run([...args, '--json']);
  expect({ code, err: code === 0 ? '' : printed.err }).toEqual({ code: 0, err: '' });
  return printed.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
}

async function failure(...args: string[]): Promise<string> {
  printed.clear();
  expect(await run(args)).toBe(2);
  return printed.err;
}

beforeAll(async () => {
  const buys = Array.from({ length: 120 }, (_, i): [string, string] => [
    `u${i % 20}`,
    `i${((i % 20) % 2) * 5 + (Math.floor(i / 20) % 5)}`,
  ]);
  await (await fitLinks(buys, { epochs: 3, directory: at('links') })).close();
  const nodes = Array.from({ length: 40 }, (_, i) => ({
    id: `n${i}`,
    x: i % 2,
    kind: i % 2 ? 'odd' : 'even',
  }));
  const edges = nodes.map(({ id }, i): [string, string] => [id, `n${(i + 2) % 40}`]);
  await (await fitNodes({ nodes, edges }, { label: 'kind', epochs: 20, directory: at('nodes') })).close();
  const stream = Array.from({ length: 200 }, (_, i) => ({ head: `u${i % 7}`, tail: `v${i % 5}`, time: i }));
  await (await fitEvents(stream, { epochs: 1, directory: at('events') })).close();
}, 120_000);

describe('query', () => {
  it('classifies nodes with probabilities, and finds their neighbours', async () => {
    const model = await openModel(at('nodes'));
    const [expected] = await model.classify(['n3']);
    await model.close();
    const [answer, done] = await events('query', at('nodes'), '--classify', 'n3');
    expect(answer).toMatchObject({ event: 'answer', name: 'n3', class: expected.class });
    const { probabilities } = answer as unknown as {
      probabilities: { class: string; probability: number }[];
    };
    expect(probabilities[0].class).toBe(expected.class);
    expect(probabilities[0].probability + probabilities[1].probability).toBeCloseTo(1, 4);
    expect(done).toMatchObject({ event: 'done', query: 'class of n3' });
    expect((await events('query', at('nodes'), '--neighbors', 'n3', '--top', '2')).length).toBe(3);
    expect(await failure('query', at('nodes'), '--head', 'n3')).toMatch(
      /a model of links for --head and --tail, got a model of nodes\. Use --classify or --neighbors/,
    );
    expect(await failure('query', at('links'), '--classify', 'u3')).toMatch(
      /a model of nodes for --classify, got a model of links\./,
    );
  });

  it('ranks destinations of events at a time', async () => {
    const model = await openModel(at('events'));
    const ranked = await model.rank({ head: 'u3', time: 1000 }, { k: 3 });
    await model.close();
    const found = await events('query', at('events'), '--head', 'u3', '--time', '1000', '--top', '3');
    expect((found.at(-1) as { answers: Ranked[] }).answers.map(({ name }) => name)).toEqual(
      ranked.map(({ name }) => name),
    );
    expect(found.at(-1)?.['query']).toBe('u3  →  ?  at 1000');
    expect(await failure('query', at('events'), '--neighbors', 'u3')).toMatch(
      /a model of links or nodes for --neighbors, got a model of events\. Use --head/,
    );
    expect(await failure('query', at('events'), '--tail', 'v1')).toMatch(/for --tail, got a model of events/);
    expect(await failure('query', at('events'), '--head', 'u3', '--time', 'soon')).toMatch(
      /a number or an ISO 8601 date for --time, got soon/,
    );
    const config = { 'memory.dim_out': 8, 'gnn.dim_out': 8 };
    const stream = Array.from({ length: 99 }, (_, i) => ({ head: `u${i % 7}`, tail: `v${i % 5}`, time: i }));
    await (await fitEvents(stream, { epochs: 1, directory: at('tgn'), config })).close();
    expect(await failure('query', at('tgn'), '--head', 'u3', '--time', '5')).toMatch(
      /query: expected a time after 98, which memory has reached, for --time, got 5\./,
    );
  });

  it('answers the questions of a file in their order, as it answers each alone', async () => {
    const path = at('questions.ndjson');
    const questions = [{ head: 'u3' }, { neighbors: 'i1' }, { tail: 'i4' }, { head: 'u4' }];
    writeFileSync(path, `${questions.map((one) => JSON.stringify(one)).join('\n\n')}\n`);
    const found = await events('query', at('links'), '--questions', path, '--top', '3');
    expect(found.at(-1)).toMatchObject({ event: 'done', questions: 4 });
    expect(found.slice(0, 4).map(({ line }) => line)).toEqual([1, 3, 5, 7]);
    for (const [i, question] of questions.entries()) {
      const [[kind, name]] = Object.entries(question);
      const alone = await events('query', at('links'), `--${kind}`, name, '--top', '3');
      expect(found[i]['answers']).toEqual(alone.at(-1)?.['answers']);
      expect([found[i], alone.at(-1)]).toMatchObject([question, question]);
    }
    const few = await events('query', at('links'), '--head', 'u3', '--k', '2');
    expect((few.at(-1) as { answers: Ranked[] }).answers).toHaveLength(2);
  });

  it('names the line of a question that is wrong', async () => {
    const wrong = async (text: string): Promise<string> => {
      writeFileSync(at('wrong.ndjson'), text);
      return failure('query', at('links'), '--questions', at('wrong.ndjson'));
    };
    expect(await wrong('{"head":"u1"}\n{"head":"u99"}\n')).toMatch(
      /wrong\.ndjson:2: query: expected an entity .* for head, got "u99"\. Did you mean/,
    );
    expect(await wrong('{"head":"u1"}\n{"hed":"u1"}\n')).toMatch(/wrong\.ndjson:2: .*Did you mean head\?/);
    expect(await wrong('{"relation":"a"}\n')).toMatch(/:1: expected one of head, tail, neighbors, classify/);
    expect(await wrong('u1\n')).toMatch(/:1: expected a JSON object such as/);
    expect(await wrong('\n')).toMatch(/expected a question per line/);
    writeFileSync(at('wrong.ndjson'), '{"head":"u1"}\n');
    expect(await failure('query', at('links'), '--questions', at('wrong.ndjson'), '--head', 'u1')).toMatch(
      /expected --questions alone, got --head/,
    );
  });

  it('opens a packed model, which the command writes', async () => {
    const [done] = await events('pack', at('links'), '-o', at('model.tgz'));
    expect(done).toMatchObject({ event: 'done', kind: 'links', file: at('model.tgz') });
    expect(await failure('pack', at('links'), '-o', at('model.tgz'))).toMatch(/--overwrite/);
    const alone = await events('query', at('links'), '--head', 'u3');
    expect((await events('query', at('model.tgz'), '--head', 'u3')).at(-1)).toEqual(alone.at(-1));
  });
});

describe('recommend', () => {
  const rows = (name: string): string[][] =>
    readFileSync(at(name), 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(','));

  it('writes items for all users, without those that they have', async () => {
    const [done] = await events('recommend', at('links'), '--k', '3', '-o', at('all.csv'));
    const [header, ...all] = rows('all.csv');
    expect(header.slice(0, 4)).toEqual(['user', 'rank', 'item', 'score']);
    expect(done).toMatchObject({ users: 20, skipped: 0, recommendations: all.length });
    expect(all.length).toBe(60);
    const model = await openModel(at('links'));
    const expected = await model.recommend('u3', { k: 3 });
    await model.close();
    expect(all.filter(([user]) => user === 'u3').map(([, , item]) => item)).toEqual(
      expected.map(({ name }) => name),
    );
    expect(all.every(([, , item]) => item.startsWith('i'))).toBe(true);
  });

  it('takes users of a file, and events', async () => {
    writeFileSync(at('users.txt'), 'u3\nu99\nu4\n');
    expect(await failure('recommend', at('links'), '--users', at('users.txt'), '-o', at('some.csv'))).toMatch(
      /users\.txt:2: expected a source that the model knows, got "u99"\. .*--skip-unknown/,
    );
    const args = ['--users', at('users.txt'), '--skip-unknown', '-o', at('some.csv')];
    const [done] = await events('recommend', at('links'), ...args);
    expect(done).toMatchObject({ users: 2, skipped: 1 });
    expect(await failure('recommend', at('links'), ...args)).toMatch(
      /expected a new file for --output, got .*some\.csv, which exists\. .*--overwrite/,
    );
    printed.clear();
    expect(await run(['recommend', at('links'), ...args, '--overwrite', '--top', '2'])).toBe(0);
    expect(printed.out).toMatch(/^4 recommendations for 2 users, 1 unknown id skipped, wrote /);
    const [next] = await events('recommend', at('events'), '--include-known', '-o', at('next.csv'));
    expect(next).toMatchObject({ users: 7, recommendations: 35 });
    expect(await failure('recommend', at('nodes'))).toMatch(/expected a run over links or events/);
  });
});
