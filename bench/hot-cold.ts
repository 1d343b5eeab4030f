/**
 * A file with hot rows cached in memory, against the file alone, both bypassing the page cache (O_DIRECT), on
 * Zipf-distributed ids: `npx tsx bench/hot-cold.ts [--rows 4000000] [--width 128] [--batch 4096] [--share 0.2]
 * [--exponent 1] [--batches 50] [--rounds 10] [--ahead 2]`.
 *
 * GB/s are bytes of returned rows. The limit is a gather of random rows from memory alone; Zipf's hot rows are partly
 * in the processor's caches, so that they can be faster. The table (2 GB by default) is written to `--dir` and removed
 * at the end.
 */
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FileStore, HotColdStore, MemoryStore, type RowStore } from 'skein/storage';
import { Random } from 'skein/util';
import { prepareBlock } from '#internal/native/index.js';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '4000000' },
    width: { type: 'string', default: '128' },
    batch: { type: 'string', default: '4096' },
    batches: { type: 'string', default: '50' },
    rounds: { type: 'string', default: '10' },
    share: { type: 'string', default: '0.2' },
    exponent: { type: 'string', default: '1' },
    ahead: { type: 'string', default: '2' },
    dir: { type: 'string', default: tmpdir() },
  },
});
const rows = Number(values.rows);
const width = Number(values.width);
const batchSize = Number(values.batch);
const numBatches = Number(values.batches);
const share = Number(values.share);
const rounds = Number(values.rounds);
const ahead = Number(values.ahead);

/** Returns value k of row id without reading the table. */
const valueAt = (id: number, k: number): number => (id + k) % 65536;

async function writeTable(path: string): Promise<void> {
  const file = await open(path, 'w');
  const piece = Math.max(1, Math.floor(2 ** 25 / (4 * width)));
  for (let start = 0; start < rows; start += piece) {
    const data = new Float32Array(Math.min(piece, rows - start) * width);
    for (let i = 0; i < data.length; i++) data[i] = valueAt(start + Math.floor(i / width), i % width);
    await file.write(new Uint8Array(data.buffer));
  }
  await file.sync();
  await file.close();
}

/** Returns row ids by popularity: the rank is independent of the position in the file. */
function popularity(random: Random): Int32Array {
  const ids = Int32Array.from({ length: rows }, (_, i) => i);
  for (let i = rows - 1; i > 0; i--) {
    const j = random.nextInt(i + 1);
    [ids[i], ids[j]] = [ids[j], ids[i]];
  }
  return ids;
}

/** Returns batches of ids, rank r with probability ∝ 1 / r^exponent. */
function zipfBatches(byRank: Int32Array, count: number, random: Random): Int32Array[] {
  const sums = new Float64Array(rows);
  let sum = 0;
  for (let r = 0; r < rows; r++) {
    sum += (r + 1) ** -Number(values.exponent);
    sums[r] = sum;
  }
  const draw = (): number => {
    const at = random.nextFloat() * sum;
    let [low, high] = [0, rows - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] > at) high = middle;
      else low = middle + 1;
    }
    return byRank[low];
  };
  return Array.from({ length: count }, () => Int32Array.from({ length: batchSize }, draw));
}

interface Measured {
  readonly seconds: number;
  readonly gbPerSecond: number;
}

/** Gathers all batches with `ahead` in flight, as in a loader that prefetches, and checks values. */
async function measure(store: RowStore<Float32Array>, batches: readonly Int32Array[]): Promise<Measured> {
  const outs = Array.from({ length: ahead }, () => new Float32Array(batchSize * width));
  let next = 0;
  const start = performance.now();
  const take = async (out: Float32Array): Promise<void> => {
    while (next < batches.length) {
      const ids = batches[next++];
      await store.gather(ids, out);
      const i = ids[0] % batchSize;
      if (out[i * width + 1] !== valueAt(ids[i], 1)) throw new Error(`row ${ids[i]} is wrong`);
    }
  };
  await Promise.all(outs.map(take));
  const seconds = (performance.now() - start) / 1000;
  return { seconds, gbPerSecond: (batches.length * batchSize * width * 4) / seconds / 1e9 };
}

function report(name: string, { seconds, gbPerSecond }: Measured, more = ''): void {
  const each = ((seconds / numBatches) * 1000).toFixed(2);
  console.log(
    `${name.padEnd(34)}${gbPerSecond.toFixed(3).padStart(8)} GB/s  ${each.padStart(8)} ms per batch  ${more}`,
  );
}

/** Returns the rate of a gather of uniform random rows from memory, more than the processor's caches hold. */
async function memoryLimit(random: Random): Promise<number> {
  const count = 2 ** 20;
  const table = new Float32Array(count * width);
  prepareBlock(new Uint8Array(table.buffer));
  const store = new MemoryStore(table.fill(1), { rows: count, width });
  const out = new Float32Array(batchSize * width);
  let best = 0;
  for (let round = 0; round < 200; round++) {
    const ids = Int32Array.from({ length: batchSize }, () => random.nextInt(count));
    const start = performance.now();
    await store.gather(ids, out);
    best = Math.max(best, out.byteLength / (performance.now() - start) / 1e6);
  }
  return best;
}

async function main(folder: string): Promise<void> {
  const path = join(folder, 'rows.bin');
  await writeTable(path);
  const random = new Random(1);
  const byRank = popularity(random);
  // New batches every round: rows of the last round must not be expected in the next.
  const drawn = zipfBatches(byRank, (rounds + 2) * numBatches, random);
  const batchesOf = (round: number): Int32Array[] =>
    drawn.slice((round + 2) * numBatches, (round + 3) * numBatches);
  const scores = new Float64Array(rows);
  byRank.forEach((id, rank) => {
    scores[id] = -rank;
  });
  const size = `${rows} rows of ${width * 4} bytes, batches of ${batchSize}, ${ahead} in flight`;
  console.log(
    `${size}, ${100 * share} % in memory, Zipf ${values.exponent}; the best of ${values.rounds} rounds`,
  );
  const limit = await memoryLimit(random);
  console.log(`${'all in memory (limit)'.padEnd(34)}${limit.toFixed(3).padStart(8)} GB/s`);

  const file = (): FileStore => new FileStore(path, { rows, width }, { io: 'auto' });
  const bytes = share * rows * width * 4;
  const alone = file();
  const fixed = new HotColdStore(file(), { size: bytes, scores, dynamicShare: 0 });
  const mixed = new HotColdStore(file(), { size: bytes, scores });
  const moving = new HotColdStore(file(), { size: bytes });
  const stores = [alone, fixed, mixed, moving];
  for (const store of stores) await store.load();
  for (const store of [mixed, moving]) await measure(store, drawn.slice(0, 2 * numBatches));
  const missed = [fixed, mixed, moving].map(({ stats }) => stats.misses);
  // Interleaved, so that disturbances affect all of them.
  const best: (Measured | undefined)[] = stores.map(() => undefined);
  for (let round = 0; round < rounds; round++)
    for (const [i, store] of stores.entries()) {
      const result = await measure(store, batchesOf(round));
      if (result.seconds < (best[i]?.seconds ?? Infinity)) best[i] = result;
    }
  const base = best[0] as Measured;
  report(`file alone${alone.isDirect ? ', direct' : ', buffered'}`, base);
  for (const [i, [name, store]] of (
    [
      ['fixed rows only', fixed],
      ['fixed, and a tenth by SIEVE', mixed],
      ['all by SIEVE', moving],
    ] as const
  ).entries()) {
    const result = best[i + 1] as Measured;
    const asked = rounds * numBatches * batchSize;
    const rate = ((100 * (store.stats.misses - missed[i])) / asked).toFixed(1);
    const times = (base.seconds / result.seconds).toFixed(2);
    const ofLimit = ((100 * result.gbPerSecond) / limit).toFixed(1);
    report(name, result, `${times}x the file, ${ofLimit} % of memory, ${rate} % missed`);
  }
  for (const store of stores) await store.unload();
}

const folder = await mkdtemp(join(values.dir, 'skein-hot-cold-'));
try {
  await main(folder);
} finally {
  await rm(folder, { recursive: true });
}
