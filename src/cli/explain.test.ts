/** `explain` on runs of every kind: text, JSON, options and wrong questions. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fitEvents, fitLinks, fitNodes, openModel } from '../predict/index.js';
import { run } from './program.js';
import { captureOutput } from './testing/capture-output.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-explain-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const printed = captureOutput();

async function explained(...args: string[]): Promise<Record<string, unknown>> {
  printed.clear();
  expect({ code: await run(['explain', ...args, '--json']), err: '' }).toEqual({ code: 0, err: '' });
  const { event, ...found } = JSON.parse(printed.out.trim().split('\n').at(-1) as string);
  expect(event).toBe('done');
  return found;
}

async function text(...args: string[]): Promise<string> {
  printed.clear();
  expect(await run(['explain', ...args])).toBe(0);
  return printed.out;
}

async function failure(...args: string[]): Promise<string> {
  printed.clear();
  expect(await run(['explain', ...args])).toBe(2);
  return printed.err;
}

beforeAll(async () => {
  const rows = Array.from({ length: 40 }, (_, i): [string, string, string][] => [
    [`p${i}`, 'lives in', `c${i % 4}`],
    [`p${i}`, 'works in', `c${i % 4}`],
  ]).flat();
  await (await fitLinks(rows, { epochs: 3, directory: at('links') })).close();
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

it('prints what the library returns, for every kind of model', async () => {
  const same = async (name: string, args: string[], ask: 'n3' | object, options: object): Promise<void> => {
    const model = await openModel(at(name));
    const wanted = await model.explain(ask as never, options);
    await model.close();
    expect(await explained(at(name), ...args)).toEqual(JSON.parse(JSON.stringify(wanted)));
  };
  await same('nodes', ['--node', 'n3', '--steps', '20', '--k', '2'], 'n3', { k: 2, steps: 20 });
  const edge = { head: 'p3', relation: 'works in', tail: 'c3' };
  const asked = ['--head', 'p3', '--relation', 'works in', '--tail', 'c3'];
  await same('links', [...asked, '--length', '1', '--randomize'], edge, { length: 1, randomize: true });
  const event = { head: 'u3', tail: 'v1', time: 1000 };
  await same('events', ['--head', 'u3', '--tail', 'v1', '--time', '1000', '--events', '4'], event, {
    events: 4,
  });
});

it('prints reasons as text', async () => {
  expect(await text(at('nodes'), '--node', 'n3', '--class', 'even', '--method', 'gradient')).toMatch(
    /^n3 is even {2}\(p 0\.\d+, method gradient\)\n {2}edges\n[\s\S]* n3 {2}→ {2}n5\n[\s\S]* {2}features, of all nodes of the neighbourhood together\n[\s\S]*fidelity\+/,
  );
  expect(
    await text(at('links'), '--head', 'p3', '--relation', 'works in', '--tail', 'c3', '--randomize'),
  ).toMatch(
    /^p3 {2}works in {2}c3 {2}\(score [\s\S]*paths\n[\s\S]*p3 {2}lives in {2}c3 {2}\(\d+ of \d+ pairs\)[\s\S]*sanity/,
  );
  expect(await text(at('events'), '--head', 'u3', '--tail', 'v1')).toMatch(
    /^u3 {2}→ {2}v1 {2}at 199[\s\S]*past events\n[\s\S]*at 1\d\d/,
  );
});

it('names what is wrong', async () => {
  expect(await failure(at('nodes'))).toMatch(/expected --node, or --head and --tail, got none of them/);
  expect(await failure(at('nodes'), '--node', 'n3', '--head', 'n1')).toMatch(/got --node and --head/);
  expect(await failure(at('nodes'), '--head', 'n3', '--tail', 'n1')).toMatch(
    /expected --node for a model of nodes/,
  );
  expect(await failure(at('links'), '--node', 'p3')).toMatch(
    /expected --head and --tail for a model of links/,
  );
  expect(await failure(at('links'), '--head', 'p3', '--tail', 'c1')).toMatch(/--relation/);
  expect(await failure(at('nodes'), '--node', 'n99')).toMatch(/for --node, got .*Did you mean/);
  expect(await failure(at('nodes'), '--node', 'n3', '--class', 'ood')).toMatch(/Did you mean odd\?/);
  expect(await failure(at('nodes'), '--node', 'n3', '--length', '2')).toMatch(/no option for length/);
  expect(await failure(at('nodes'), '--node', 'n3', '--max-edges', '1')).toMatch(/at most 1 edges around n3/);
});
