/**
 * Results of every kind of run, bit for bit as they were recorded in test/golden/runs-<level>.json: losses, metrics, every
 * tensor and table, trained in one run and in a run that is resumed. A level without a record is skipped.
 *
 * After a change that is meant to change results: `SKEIN_RECORD=1 SKEIN_TEST_WIDE=1 npx vitest run test/frozen`, once for each
 * level (SKEIN_NATIVE=portable …), and state in the commit which results changed and why.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nativeStatus } from 'skein/native';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasMpi, withoutMpi } from '../dist/launch.js';
import { root } from '../programs.js';
import { isWide, wide } from '../wide.js';
import { kinds, writeKinds } from './kinds.js';
import { command, type Outcome, outcome } from './runs.js';

interface Recorded {
  readonly whole: Outcome;
  /** Left out in the default suite. */
  readonly resumed?: Outcome;
}

const level = nativeStatus().level ?? 'reference';
const file = join(root, 'test/golden', `runs-${level}.json`);
const recording = process.env['SKEIN_RECORD'] === '1';
const golden = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, Recorded>) : null;
const missing = golden === null && !recording;
const withoutRecord = missing ? ` (skipped: no record for level ${level})` : '';

const folder = mkdtempSync(join(tmpdir(), 'skein-frozen-'));
const found: Record<string, Recorded> = {};
beforeAll(() => writeKinds(folder));
afterAll(() => {
  rmSync(folder, { recursive: true });
  if (recording) writeFileSync(file, `${JSON.stringify({ ...golden, ...found }, null, 1)}\n`);
});

async function train(kind: string, workers: number): Promise<Recorded> {
  const { epochs } = kinds[kind];
  const run = async (name: string, count: number, ...more: string[]) => {
    const at = `runs/${kind}-${workers}-${name}`;
    const args = ['train', `${kind}.yaml`, `--storage.model_dir=${at}`, `--${epochs}=${count}`, ...more];
    return outcome(join(folder, at), await command(folder, workers, args));
  };
  const whole = await run('whole', 3);
  if (!isWide) return { whole };
  await run('pieces', 1);
  return { whole, resumed: await run('pieces', 3, '--training.resume_training=true') };
}

/** One of each family in the default suite. */
const usual = ['links-memory', 'links-encoder-buffer', 'nodes-sampled', 'nodes-sharded', 'events-tgn'];
const all = Object.entries(kinds).flatMap(([kind, { workers }]) =>
  workers.map((count, i) => ({ kind, workers: count, isDefault: i === 0 && usual.includes(kind) })),
);
const cases = wide(
  all.filter(({ isDefault }) => isDefault),
  all.filter(({ isDefault }) => !isDefault),
);

describe.skipIf(missing)(`recorded results${withoutRecord}`, () => {
  for (const { kind, workers } of cases) {
    const name = `${kind}, ${workers} ${workers === 1 ? 'process' : 'workers'}`;
    const cannot = workers > 1 && !hasMpi;
    it.skipIf(cannot)(`${name}${cannot ? withoutMpi : ''}`, async () => {
      found[name] = await train(kind, workers);
      const { whole, resumed = golden?.[name]?.resumed } = found[name];
      if (!recording) expect({ whole, resumed }).toEqual(golden?.[name]);
    });
  }
});
