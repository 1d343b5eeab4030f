/** Runs that were moved: with their data, without it, and next to data of the same name. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fitEvents, fitLinks, fitNodes, openModel } from 'skein/predict';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = mkdtempSync(join(tmpdir(), 'portable-'));
const at = (...names: string[]): string => join(root, ...names);
afterAll(() => rmSync(root, { recursive: true, force: true }));

const facts: [string, string, string][] = [];
for (let i = 0; i < 40; i++) {
  facts.push([`p${i}`, 'works in', `team ${i % 4}`]);
  facts.push([`p${i}`, 'knows', `p${(i + 4) % 40}`]);
}
const question = { head: 'p1', relation: 'works in' };

/** Answers of a model of links to one question of each kind. */
async function answersOf(path: string) {
  const model = await openModel(path);
  try {
    return {
      rank: await model.rank([question], { k: 5 }),
      score: await model.score([{ ...question, tail: 'team 1' }]),
      neighbors: await model.neighbors(['p3'], { k: 3 }),
      embed: await model.embed(['p3']),
      metrics: model.metrics,
    };
  } finally {
    await model.close();
  }
}

describe('a model of links', () => {
  let before: Awaited<ReturnType<typeof answersOf>>;
  beforeAll(async () => {
    await (await fitLinks(facts, { epochs: 3, seed: 1, directory: at('first') })).close();
    before = await answersOf(at('first'));
  });

  it('answers alike after it was moved with its dataset', async () => {
    cpSync(at('first'), at('moved'), { recursive: true });
    rmSync(at('moved', 'run', 'dataset'), { recursive: true });
    renameSync(at('first'), at('away'));
    expect(await answersOf(at('moved'))).toEqual(before);
    // The dataset next to the run, under its name.
    mkdirSync(at('flat'));
    renameSync(at('moved', 'run'), at('flat', 'any'));
    renameSync(at('moved', 'data'), at('flat', 'data'));
    expect(await answersOf(at('flat', 'any'))).toEqual(before);
  });

  it('answers alike without its dataset', async () => {
    cpSync(at('away', 'run'), at('alone'), { recursive: true });
    expect(readdirSync(at('alone', 'dataset')).sort()).toEqual(['dataset.yaml', 'edges', 'nodes']);
    expect(await answersOf(at('alone'))).toEqual(before);
    // A dataset of the same name that has other contents is not taken.
    mkdirSync(at('wrong'));
    cpSync(at('alone'), at('wrong', 'run'), { recursive: true });
    const other = await fitLinks(facts.slice(0, 60), { epochs: 1, directory: at('other') });
    await other.close();
    cpSync(at('other', 'data'), at('wrong', 'data'), { recursive: true });
    expect(await answersOf(at('wrong', 'run'))).toEqual(before);
  });

  it('says what to do if nothing has its dataset, and takes the one that is named', async () => {
    cpSync(at('alone'), at('bare'), { recursive: true });
    rmSync(at('bare', 'dataset'), { recursive: true });
    const error = await openModel(at('bare')).catch((reason: Error) => reason);
    expect((error as Error).message).toMatch(
      /expected the dataset that the run was trained on.*got none in .*Put it next to the run, or name its directory with --storage\.dataset\.dataset_dir=DIR/,
    );
    const named = await openModel(at('bare'), {
      overrides: [`storage.dataset.dataset_dir=${at('away', 'data')}`],
    });
    expect(await named.rank([question], { k: 5 })).toEqual(before.rank);
    await named.close();
  });

  it('notices a damaged copy of its dataset', async () => {
    cpSync(at('alone'), at('damaged'), { recursive: true });
    writeFileSync(at('damaged', 'dataset', 'nodes', 'node_mapping.txt'), 'x,0\n');
    await expect(openModel(at('damaged'))).rejects.toThrow(/node_mapping\.txt: expected \d+ bytes, got 4/);
  });
});

describe('other models', () => {
  it('classifies nodes by features and edges without the dataset', async () => {
    const nodes = Array.from({ length: 40 }, (_, i) => ({
      id: `n${i}`,
      x: (i % 2) + i / 100,
      kind: i % 2 ? 'a' : 'b',
    }));
    const edges = nodes.map(({ id }, i): [string, string] => [id, `n${(i + 2) % 40}`]);
    const model = await fitNodes({ nodes, edges }, { label: 'kind', epochs: 3, directory: at('nodes') });
    const classes = await model.classify(['n3', 'n4']);
    await model.close();
    renameSync(at('nodes', 'run'), at('nodes-alone'));
    rmSync(at('nodes'), { recursive: true });
    const moved = await openModel(at('nodes-alone'));
    expect(await moved.classify(['n3', 'n4'])).toEqual(classes);
    await moved.close();
  });

  it('finds the events of a stream next to the run, and says that it needs them', async () => {
    const events = Array.from({ length: 200 }, (_, i) => ({ head: `u${i % 7}`, tail: `v${i % 5}`, time: i }));
    const model = await fitEvents(events, { epochs: 1, directory: at('stream') });
    const ranked = await model.rank([{ head: 'u3' }], { k: 3 });
    await model.close();
    renameSync(at('stream'), at('stream-moved'));
    const moved = await openModel(at('stream-moved'));
    expect(await moved.rank([{ head: 'u3' }], { k: 3 })).toEqual(ranked);
    await moved.close();
    renameSync(at('stream-moved', 'run'), at('stream-alone'));
    expect(existsSync(at('stream-alone', 'full_config.yaml'))).toBe(true);
    await expect(openModel(at('stream-alone'))).rejects.toThrow(
      /expected the events that the run was trained on, got none.*--dataset\.path=FILE/,
    );
  });
});
