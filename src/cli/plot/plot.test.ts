/** `plot` and `compare` on runs, datasets and event files, and what they refuse. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fitEvents, fitLinks, fitNodes } from '../../predict/index.js';
import { run } from '../program.js';
import { captureOutput } from '../testing/capture-output.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-plot-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const printed = captureOutput();

beforeAll(async () => {
  const facts = Array.from({ length: 160 }, (_, i): [string, string, string] => [
    `a${i % 20}`,
    i % 3 === 0 ? 'likes & <loves>' : 'knows',
    `a${(i * 7 + 3) % 20}`,
  ]);
  await (await fitLinks(facts, { epochs: 3, directory: at('links') })).close();
  await (await fitLinks(facts, { epochs: 2, directory: at('other') })).close();
  const nodes = Array.from({ length: 60 }, (_, i) => ({
    id: `n${i}`,
    x: i % 2,
    kind: i % 2 ? 'odd' : 'even',
  }));
  const edges = nodes.map(({ id }, i): [string, string] => [id, `n${(i + 2) % 60}`]);
  await (await fitNodes({ nodes, edges }, { label: 'kind', epochs: 10, directory: at('nodes') })).close();
  const stream = Array.from({ length: 200 }, (_, i) => ({ head: `u${i % 7}`, tail: `v${i % 5}`, time: i }));
  await (await fitEvents(stream, { epochs: 1, directory: at('events') })).close();
  writeFileSync(
    at('events.csv'),
    `source,target,time\n${stream.map(({ head, tail, time }) => `${head},${tail},${time}`).join('\n')}\n`,
  );
}, 120_000);

/** Draws a picture and returns it; checks that it is well-formed. */
async function draw(...args: string[]): Promise<string> {
  const file = at('picture.svg');
  rmSync(file, { force: true });
  printed.clear();
  const code = await run(['plot', ...args, '-o', file]);
  expect({ code, err: printed.err }).toEqual({ code: 0, err: '' });
  const svg = readFileSync(file, 'utf8');
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  expect(svg.match(/<g[ >]/g)?.length).toBe(svg.match(/<\/g>/g)?.length);
  return svg;
}

async function failure(...args: string[]): Promise<string> {
  printed.clear();
  expect(await run(args)).toBe(2);
  return printed.err;
}

describe('plot', () => {
  it('draws curves of one run and of several', async () => {
    expect(await draw(at('links'))).toContain('Training loss');
    const both = await draw(
      at('links'),
      at('other'),
      '--metric',
      'mrr',
      '--metric',
      'hits@1',
      '--smooth',
      '0.5',
    );
    expect(both).toContain('hits@1 on validation');
    expect(both).toContain('other');
    expect(await draw(at('nodes'), '--log-y')).toContain('accuracy on validation');
    expect(await draw(at('events'))).toContain('Training loss');
  });

  it('draws ranks, maps, degrees and neighbourhoods of links', async () => {
    expect(await draw(at('links'), '--kind', 'ranks')).toContain('predicted heads');
    expect(await draw(at('links'), '--kind', 'map')).toContain('head of knows');
    expect(await draw(at('links'), '--kind', 'degrees')).toContain('Degrees of 20 nodes');
    const around = await draw(at('links'), '--kind', 'neighborhood', '--node', 'a3', '--hops', '2');
    expect(around).toContain('Around a3');
    expect(around).toContain('likes &amp; &lt;loves&gt;');
    expect(around).toContain('predicted');
  });

  it('draws confusion and reliability of nodes', async () => {
    expect(await draw(at('nodes'), '--kind', 'confusion')).toContain('predicted class');
    expect(await draw(at('nodes'), '--kind', 'reliability')).toContain('calibration error');
    expect(await draw(at('nodes'), '--kind', 'map')).toContain('even');
    expect(await draw(at('nodes'), '--kind', 'neighborhood', '--node', 'n4')).toContain('Around n4');
  });

  it('draws degrees of event files', async () => {
    expect(await draw(at('events.csv'))).toContain('Degrees of 12 nodes');
  });

  it('writes equal pictures for equal runs, to standard output too', async () => {
    const svg = await draw(at('links'), '--kind', 'map');
    expect(await draw(at('links'), '--kind', 'map')).toBe(svg);
    printed.clear();
    expect(await run(['plot', at('links'), '--kind', 'map', '-o', '-'])).toBe(0);
    expect(printed.out).toBe(svg);
  });

  it('refuses other models, options without effect and paths that are not runs', async () => {
    expect(await failure('plot', at('links'), '--kind', 'confusion')).toContain('expected a model of nodes');
    expect(await failure('plot', at('nodes'), '--kind', 'ranks')).toContain('expected a model of links');
    expect(await failure('plot', at('links'), '--kind', 'ranks', '--smooth', '0.5')).toContain(
      'no options of curves',
    );
    expect(await failure('plot', at('links'), '--kind', 'neighborhood')).toContain('--node');
    expect(await failure('plot', at('links'), '--kind', 'neighborhood', '--node', 'a333')).toContain(
      'Did you mean',
    );
    expect(await failure('plot', at('links'), '--node', 'a3')).toContain('no --node');
    expect(await failure('plot', at('links'), '--metric', 'auc')).toContain('There are mrr');
    expect(await failure('plot', at('links'), at('other'), '--kind', 'map')).toContain('one path');
    expect(await failure('plot', at('missing'))).toContain('missing');
    expect(await failure('plot', at('events'), '--kind', 'map')).toContain('Event streams have');
    expect(existsSync(at('map.svg'))).toBe(false);
  });
});

describe('compare', () => {
  it('shows metrics side by side, and differences of configurations', async () => {
    printed.clear();
    expect(await run(['compare', at('links'), at('other')])).toBe(0);
    expect(printed.out).toMatch(/test mrr +[01]\.\d{4} █/);
    expect(printed.out).toMatch(/training\.num_epochs +3 +2/);
    printed.clear();
    expect(await run(['compare', at('links'), at('links')])).toBe(0);
    expect(printed.out).toContain('The configurations are the same.');
    printed.clear();
    expect(await run(['compare', at('events'), at('nodes')])).toBe(0);
    expect(printed.out).toMatch(/test events +\d+ +–\n/);
  });

  it('refuses one run, and paths that are not runs', async () => {
    expect(await failure('compare', at('links'))).toContain('at least two runs');
    expect(await failure('compare', at('links'), at('events.csv'))).toContain('expected directories of runs');
  });
});
