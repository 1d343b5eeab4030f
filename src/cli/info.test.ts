/** `skein info` on runs, also killed and moved ones, checkpoints, datasets, configurations and searches. */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from './program.js';
import { captureOutput } from './testing/capture-output.js';
import { writeRunFiles } from './testing/run-files.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-runs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

const printed = captureOutput();

type Event = Readonly<Record<string, unknown>>;

/** Runs a command that must succeed; gives its events. */
async function events(...args: string[]): Promise<Event[]> {
  printed.clear();
  const code = await run([...args, '--json']);
  expect({ code, err: code === 0 ? '' : printed.err }).toEqual({ code: 0, err: '' });
  return printed.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
}

async function last(...args: string[]): Promise<Event> {
  const all = await events(...args);
  expect(all.at(-1)?.['event']).toBe('done');
  return all.at(-1) as Event;
}

/** Runs a command that must fail; returns its error. */
async function expectFailure(...args: string[]): Promise<string> {
  printed.clear();
  expect(await run(args)).toBe(2);
  expect(printed.out).toBe('');
  return printed.err;
}

let trained: Event;
beforeAll(async () => {
  await writeRunFiles(folder);
  trained = await last('train', at('links.yaml'));
}, 240_000);

describe('info', () => {
  it('says what a run, a checkpoint and a dataset are', async () => {
    const done = await last('info', at('run'));
    expect(done).toMatchObject({ kind: 'run', finished: true, epochs: 4, nodes: 100 });
    expect(done['model']).toBe('EMBEDDING 16 → DISTMULT');
    expect((done['metrics'] as Record<string, unknown>)['test']).toEqual(trained['test']);
    expect(await last('info', at('run/checkpoint_2'))).toMatchObject({ kind: 'checkpoint', epoch: 2 });
    for (const name of ['checkpoint_10', 'checkpoint_9'])
      cpSync(at('run/checkpoint_2'), at(`run/${name}`), { recursive: true });
    const { checkpoints } = (await last('info', at('run'))) as { checkpoints: { name: string }[] };
    const numbered = checkpoints.map(({ name }) => name).filter((name) => name.startsWith('checkpoint_'));
    expect(numbered).toEqual(['checkpoint_2', 'checkpoint_9', 'checkpoint_10']);
    for (const name of ['checkpoint_10', 'checkpoint_9']) rmSync(at(`run/${name}`), { recursive: true });
    const dataset = { kind: 'dataset', num_nodes: 100, num_relations: 10, num_test: 50 };
    expect(await last('info', at('graph'))).toMatchObject(dataset);
    printed.out = '';
    expect(await run(['info', at('nodes')])).toBe(0);
    expect(printed.out).toMatch(/nodes +100\n[\s\S]*features +4 per node\nclasses +3\n/);
    writeFileSync(at('events.txt'), '1 2 5\n2 3 9\n');
    const events = { kind: 'events', nodes: 3, events: 2, destinations: 2, first: 5, last: 9 };
    expect(await last('info', at('events.txt'))).toMatchObject(events);
    expect(await expectFailure('info', at('none'))).toMatch(/got .*none, which does not exist\./);
    mkdirSync(at('stream'));
    writeFileSync(at('stream/stream.json'), '{}');
    expect(await expectFailure('info', at('stream'))).toMatch(
      /which is the state of a stream\. Open it with .* --state /,
    );
    mkdirSync(at('nothing'));
    expect(await expectFailure('info', at('nothing'))).toMatch(
      /no full_config\.yaml, no dataset\.yaml, no search\.yaml, no description of partitions and no event file/,
    );
  });

  it('describes the model of a run that was killed, which eval uses too', async () => {
    cpSync(at('run'), at('killed'), { recursive: true });
    for (const name of readdirSync(at('killed')).filter((one) => /^(last|checkpoint_[^2].*)$/.test(one)))
      rmSync(at(`killed/${name}`), { recursive: true });
    mkdirSync(at('killed/best'));
    renameSync(at('killed/model.safetensors'), at('killed/best/model.safetensors'));
    rmSync(at('killed/done.json'));
    const done = await last('info', at('killed'));
    expect(done).toMatchObject({ finished: false, opened: { name: 'best', epoch: 4 } });
    expect((done['metrics'] as Event)['validation']).toEqual(trained['validation']);
    const evaluated = await last('eval', at('killed'));
    expect(evaluated).toMatchObject({ checkpoint: 'best', epoch: 4, test: trained['test'] });
    printed.clear();
    expect(await run(['eval', at('killed'), '--training.restore_best=false'])).toBe(0);
    expect(printed.out).toMatch(
      /^test set, model of epoch 2 in .*: checkpoint checkpoint_2 of a run that has not finished$/m,
    );
    rmSync(at('killed/best'), { recursive: true });
    printed.clear();
    expect(await run(['info', at('killed')])).toBe(0);
    expect(printed.out).toMatch(/^used {8}checkpoint_2 \(epoch 2\), by eval, query and predict$/m);
    const early =
      readFileSync(at('run/metrics.jsonl'), 'utf8').match(/^.*"validation".*"epoch":2,.*$/m)?.[0] ?? '';
    const { mrr } = JSON.parse(early) as { mrr: number };
    expect(printed.out).toMatch(new RegExp(`^validation {2}mrr ${mrr.toFixed(4)} `, 'm'));
  });

  it('says which dataset a moved run uses', async () => {
    cpSync(at('run'), at('elsewhere/deep/run'), { recursive: true });
    const config = at('elsewhere/deep/run/full_config.yaml');
    const gone = readFileSync(config, 'utf8').replaceAll(at('graph'), at('gone/graph'));
    writeFileSync(config, gone.replaceAll(at('run'), at('gone/runs/run')));
    expect(await last('info', at('elsewhere/deep/run'))).toMatchObject({
      ...{ dataset: at('gone/graph'), datasetFound: at('elsewhere/deep/run/dataset') },
    });
    printed.clear();
    expect(await run(['info', at('elsewhere/deep/run')])).toBe(0);
    expect(printed.out).toMatch(
      /gone\/graph \(no longer there; commands use the run's own folder dataset\), /,
    );
  });

  it('describes a configuration and a search', async () => {
    expect(await last('info', at('links.yaml'))).toMatchObject({
      ...{ kind: 'configuration', task: 'LINK_PREDICTION', plannedEpochs: 4, directory: at('run') },
    });
    mkdirSync(at('search'));
    writeFileSync(
      at('search/search.yaml'),
      'seed: 1\ntrials: 3\nsampler: quasi\nvariant: plain\nspace: { training.batch_size: [50, 100] }\nconfig: {}\n',
    );
    const log = [
      { event: 'done', trial: 0, round: 0, value: 0.5 },
      { event: 'failed', trial: 1, round: 0, reason: 'x' },
    ];
    writeFileSync(
      at('search/trials.jsonl'),
      `${log.map((one) => JSON.stringify(one)).join('\n')}\n{"event":"do`,
    );
    const search = { kind: 'search', keys: ['training.batch_size'], trials: 3, trained: 1, failed: 1 };
    expect(await last('info', at('search'))).toMatchObject({ ...search, best: null });
    writeFileSync(
      at('search/best.yaml'),
      '# Trial 0: mrr 0.5000 on the validation set in epoch 2.\nmodel: {}\n',
    );
    printed.clear();
    expect(await run(['info', at('search')])).toBe(0);
    expect(printed.out).toMatch(
      /^search .* \(finished\)\n[\s\S]*\nbest .*best\.yaml\. Trial 0: mrr 0\.5000 on/,
    );
  });

  it('shows the validation of the saved model, the deciding metric and baselines by their form', async () => {
    cpSync(at('run'), at('best-run'), { recursive: true });
    const metrics = at('best-run/metrics.jsonl');
    const later = { event: 'eval', set: 'validation', epoch: 9, mrr: 0.0123 };
    writeFileSync(metrics, `${readFileSync(metrics, 'utf8')}${JSON.stringify(later)}\n`);
    const done = await last('info', at('best-run'));
    expect((done['metrics'] as Event)['validation']).toEqual(trained['validation']);
    expect(done['baselines']).toEqual(trained['baselines']);
    expect(done['best']).toMatchObject({ metric: 'mrr' });
    printed.clear();
    expect(await run(['info', at('best-run')])).toBe(0);
    expect(printed.out).toMatch(/^best {8}mrr 0\.\d{4} on validation in epoch \d$/m);
    expect(printed.out).toMatch(/^test {8}mrr .*\nbaseline {4}mrr .* {2}\(counting\)$/m);
  });
});
