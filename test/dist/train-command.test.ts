/** `skein run -n … train …`: one report, one directory, one message when something is wrong, and a collective stop. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderConfig } from '#internal/train/config/config-file.js';
import { skein as main } from '../programs.js';
import { learned, randomRows, scratch, tinyConfig, writeDataset } from '../train/tiny.js';
import { isWide } from '../wide.js';
import { hasMpi, withoutMpi } from './mpi-launch.js';

const folder = scratch();
const rows = randomRows(40, 300, 3);
const dataset = writeDataset(folder(), {
  numNodes: 40,
  numRelations: 3,
  train: rows.subarray(0, 750),
  validation: rows.subarray(750, 810),
  test: rows.subarray(810),
});

function configFile(model_dir: string, more: object = {}): string {
  const { training = {}, ...rest } = more as { training?: object };
  const path = `${folder()}.yaml`;
  writeFileSync(
    path,
    renderConfig(
      tinyConfig(dataset, { storage: { model_dir }, training: { num_epochs: 2, ...training }, ...rest }),
    ),
  );
  return path;
}

interface Ended {
  readonly code: number | null;
  readonly events: readonly Readonly<Record<string, unknown>>[];
  readonly err: string;
}

function skein(line: readonly string[], watch?: (out: string, child: ChildProcess) => void): Promise<Ended> {
  const child = spawn(process.execPath, [...main, ...line], {
    env: { ...process.env, SKEIN_THREADS: '1' },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (data) => {
    out += data;
    watch?.(out, child);
  });
  child.stderr.on('data', (data) => {
    err += data;
  });
  return new Promise((resolve) =>
    child.on('close', (code) => {
      const lines = out.split('\n').filter((text) => text !== '');
      resolve({ code, events: lines.map((text) => JSON.parse(text)), err });
    }),
  );
}

describe.skipIf(!hasMpi)(`skein run -n 2 train${withoutMpi}`, () => {
  it('reports once, is evaluated by one process, and is where a new run can start', async () => {
    const [at, next] = [folder(), folder()];
    const settings = { training: { checkpoint: { interval: 1, save_best: true } } };
    const first = await skein(['run', '-n', '2', 'train', configFile(at, settings), '--json', '--profile']);
    expect(first.code, first.err).toBe(0);
    expect(first.events.filter(({ event }) => event === 'epoch').length).toBe(2);
    const done = first.events.at(-1) as { test: Readonly<Record<string, number>> };
    expect(done).toMatchObject({ event: 'done', directory: at, epochs: 2, workers: 2 });
    for (const name of ['best', 'checkpoint_1', 'model.safetensors', 'trace.json', 'done.json'])
      expect([name, existsSync(join(at, name))]).toEqual([name, true]);
    expect(readFileSync(join(at, 'log.txt'), 'utf8').match(/epoch 1 /g)?.length).toBe(1);
    const evaluated = await skein(['eval', at, '--json']);
    const { test } = evaluated.events.at(-1) as unknown as typeof done;
    expect(test).toEqual(done.test);
    const from = { training: { num_epochs: 1, resume_from_checkpoint: join(at, 'checkpoint_1') } };
    const second = await skein(['run', '-n', '2', 'train', configFile(next, from), '--json']);
    expect(second.code, second.err).toBe(0);
    const { embeddings } = await learned(next);
    expect(embeddings).toEqual((await learned(at)).embeddings);
  }, 240_000);

  it('reports an error of a configuration once, and creates nothing', async () => {
    const at = folder();
    const line = ['run', '-n', '2', 'train', configFile(at), '--json'];
    const unknown = await skein([...line, '--distributed.moode=sar']);
    expect(unknown.code).toBe(2);
    expect(unknown.events).toEqual([expect.objectContaining({ event: 'error', code: 'SKEIN_CONFIG' })]);
    expect(unknown.err.match(/Did you mean distributed.mode/g)?.length).toBe(1);
    const buffered = await skein([...line, '--storage.features.type=PARTITION_BUFFER']);
    expect(buffered.code).toBe(2);
    expect(buffered.err).toContain(
      'storage.features.type: expected HOST_MEMORY or FLAT_FILE with 2 workers, got PARTITION_BUFFER',
    );
    const against = await skein([...line, '--training.form=ONE_VS_ALL']);
    expect(against.code).toBe(2);
    expect(against.err).toContain('training.form: expected NEGATIVES with 2 workers, got ONE_VS_ALL');
    expect(existsSync(at)).toBe(false);
  }, 240_000);

  it.runIf(isWide)(
    'says once that a configuration does not fit its dataset',
    async () => {
      const line = ['run', '-n', '2', 'train', configFile(folder()), '--json'];
      const other = await skein([...line, '--storage.dataset.num_nodes=7']);
      expect({ code: other.code, events: other.events.length }).toEqual({ code: 2, events: 1 });
      expect(other.err.match(/expected the 40 of the dataset for storage.dataset.num_nodes/g)?.length).toBe(
        1,
      );
    },
    240_000,
  );

  it('stops all workers at one batch with a checkpoint', async () => {
    const at = folder();
    let asked = false;
    const settings = { training: { num_epochs: 5000 }, evaluation: { epochs_per_eval: 5000 } };
    const { code, events, err } = await skein(
      ['run', '-n', '2', 'train', configFile(at, settings), '--json'],
      (out, child) => {
        if (asked || !out.includes('"epoch":3')) return;
        asked = true;
        child.kill('SIGTERM');
      },
    );
    expect(code, err).toBe(0);
    expect(events.at(-1)).toMatchObject({ event: 'done', interrupted: true, directory: at });
    expect(err).toContain(` run -n 2 train ${at} --training.resume_training=true`);
    const { position } = (await learned(at, 'last')) as { position: { epoch: number } };
    expect(position.epoch).toBe(events.at(-1)?.['epochs']);
  }, 240_000);
});
