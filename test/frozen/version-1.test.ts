/**
 * Run directories of every kind as the first version of the run format wrote them: they are evaluated to the same metrics and
 * resumed to the recorded results. `test/fixtures/runs-version-1` holds each run after one epoch, with its dataset, and is
 * never written again; `@FOLDER@` stands for its folder.
 */
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nativeStatus } from 'skein/native';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { referenceKernels } from '#internal/native/index.js';
import { hasMpi, withoutMpi } from '../dist/launch.js';
import { root } from '../programs.js';
import { wide } from '../wide.js';
import { kinds, laterKinds } from './kinds.js';
import { command, type Outcome, outcome } from './runs.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-version-1-'));
/** The level of the processor that wrote them: only there resuming gives the recorded bits. */
const writtenBy = 'avx512';
const golden = JSON.parse(
  readFileSync(join(root, 'test/golden', `runs-${writtenBy}.json`), 'utf8'),
) as Record<string, { readonly resumed: Outcome }>;

/**
 * Kinds whose first epoch, which the fixtures hold, was drawn otherwise than a run of today draws it, so that they end
 * elsewhere than that does: dropout goes by the ids of nodes and edges since.
 */
const drawnOtherwise = ['links-encoder'];
const ownFile = join(root, 'test/golden', `runs-version-1-${writtenBy}.json`);
const recording = process.env['SKEIN_RECORD'] === '1';
const own = JSON.parse(existsSync(ownFile) ? readFileSync(ownFile, 'utf8') : '{}') as Record<string, Outcome>;
const found: Record<string, Outcome> = {};

beforeAll(() => {
  cpSync(join(root, 'test/fixtures/runs-version-1'), folder, { recursive: true });
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(yaml|json|jsonl|txt)$/.test(name)) continue;
    const text = readFileSync(join(folder, name), 'utf8');
    writeFileSync(join(folder, name), sealed(text.replaceAll('@FOLDER@', folder)));
  }
});
afterAll(() => {
  rmSync(folder, { recursive: true });
  if (recording && Object.keys(found).length > 0)
    writeFileSync(ownFile, `${JSON.stringify({ ...own, ...found }, null, 1)}\n`);
});

/** Configurations end with a checksum of their lines, which have changed with the folder. */
function sealed(text: string): string {
  return text.replace(/^([\s\S]*\n)# Checksum of the lines above: [0-9a-f]{8}\n$/, (_, lines: string) => {
    const bytes = Buffer.from(lines);
    const sum = referenceKernels.crc32(bytes, bytes.length, 0);
    return `${lines}# Checksum of the lines above: ${sum.toString(16).padStart(8, '0')}\n`;
  });
}

function done(at: string): Record<string, Record<string, number>> {
  return JSON.parse(readFileSync(join(folder, at, 'done.json'), 'utf8'));
}

/** One of each family; the others are read by the same code. */
const usual = ['links-encoder-buffer'];
const more = Object.keys(kinds).filter((kind) => ![...usual, ...laterKinds].includes(kind));

describe.each(wide(usual, more))('%s', (kind) => {
  const { epochs, workers } = kinds[kind];
  const at = `runs/${kind}`;

  it('is evaluated to its metrics', async () => {
    const events = await command(folder, 1, ['eval', at]);
    const found = events.find(({ event, set }) => event === 'eval' && set === 'test') as Record<
      string,
      unknown
    >;
    const before = done(at).test;
    // Levels differ in the last bits of a score, and with them pairs that are nearly equal.
    for (const [name, value] of Object.entries(before))
      if (/mrr|mean_rank|^ap$|accuracy/.test(name))
        expect(Math.abs((found[name] as number) - value)).toBeLessThan(0.02 * Math.abs(value));
  });

  const cannot = workers[0] > 1 && !hasMpi;
  it.skipIf(cannot)(`is resumed to the recorded result${cannot ? withoutMpi : ''}`, async () => {
    const args = [`--storage.model_dir=${at}`, `--${epochs}=3`, '--training.resume_training=true'];
    const ended = await outcome(
      join(folder, at),
      await command(folder, workers[0], ['train', `${kind}.yaml`, ...args]),
    );
    expect(ended.losses).toHaveLength(2);
    if (nativeStatus().level !== writtenBy) return;
    const name = `${kind}, ${workers[0]} ${workers[0] === 1 ? 'process' : 'workers'}`;
    if (!drawnOtherwise.includes(kind)) expect(ended).toEqual(golden[name].resumed);
    else if (recording) found[name] = ended;
    else expect(ended).toEqual(own[name]);
  });
});
