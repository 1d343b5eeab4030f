/**
 * Rows of a file with the hot ones in memory, against the file alone, both past the page cache (O_DIRECT), on Zipf-distributed
 * ids: `npx tsx bench/hot-cold.ts [--rows 4000000] [--width 128] [--batch 4096] [--share 0.2] [--exponent 1] [--batches 200]`.
 *
 * GB/s are bytes of rows handed out. The limit beside them is the same gather from memory alone: random rows of 512 bytes.
 * The table (2 GB as given) is written to `--dir` and removed at the end.
 */
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FileStore, HotColdStore, MemoryStore, type RowStore } from 'skein/storage';
import { Random } from 'skein/util';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '4000000' },
    width: { type: 'string', default: '128' },
    batch: { type: 'string', default: '4096' },
    batches: { type: 'string', default: '200' },
    share: { type: 'string', default: '0.2' },
    exponent: { type: 'string', default: '1' },
    dir: { type: 'string', default: tmpdir() },
  },
});
const rows = Number(values.rows);
const width = Number(values.width);
const batchSize = Number(values.batch);
const numBatches = Number(values.batches);
const share = Number(values.share);

/** Value k of row id is known without the table. */
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

/** Row ids by popularity: the rank says nothing about the place in the file. */
function popularity(random: Random): Int32Array {
  const ids = Int32Array.from({ length: rows }, (_, i) => i);
  for (let i = rows - 1; i > 0; i--) {
    const j = random.nextInt(i + 1);
    [ids[i], ids[j]] = [ids[j], ids[i]];
  }
  return ids;
}

/** Batches of ids, rank r with probability ∝ 1 / r^exponent. */
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

/** All batches one after the other, as a loader without prefetching would; values are checked in passing. */
async function measure(store: RowStore<Float32Array>, batches: readonly Int32Array[]): Promise<Measured> {
  const out = new Float32Array(batchSize * width);
  const start = performance.now();
  for (const [b, ids] of batches.entries()) {
    await store.gather(ids, out);
    const i = (b * 31) % batchSize;
    if (out[i * width + 1] !== valueAt(ids[i], 1)) throw new Error(`row ${ids[i]} is wrong`);
  }
  const seconds = (performance.now() - start) / 1000;
  return { seconds, gbPerSecond: (batches.length * batchSize * width * 4) / seconds / 1e9 };
}

function report(name: string, { seconds, gbPerSecond }: Measured, more = ''): void {
  const each = ((seconds / numBatches) * 1000).toFixed(2);
  console.log(
    `${name.padEnd(34)}${gbPerSecond.toFixed(3).padStart(8)} GB/s  ${each.padStart(8)} ms a batch  ${more}`,
  );
}

async function main(folder: string): Promise<void> {
  const path = join(folder, 'rows.bin');
  await writeTable(path);
  const random = new Random(1);
  const byRank = popularity(random);
  const [warm, batches] = [zipfBatches(byRank, numBatches, random), zipfBatches(byRank, numBatches, random)];
  const scores = new Float64Array(rows);
  byRank.forEach((id, rank) => {
    scores[id] = -rank;
  });
  const shape = { rows, width };
  const size = `${rows} rows of ${width * 4} bytes, batches of ${batchSize}, ${values.batches} of them`;
  console.log(`${size}, ${100 * share} % in memory, Zipf ${values.exponent}`);

  const resident = new MemoryStore(new Float32Array(Math.min(rows, 2 ** 20) * width), {
    ...shape,
    rows: Math.min(rows, 2 ** 20),
  });
  const inMemory = batches.map((ids) => ids.map((id) => id % resident.rows));
  let limit = 0;
  for (let i = 0; i < 3; i++) {
    const start = performance.now();
    const out = new Float32Array(batchSize * width);
    for (const ids of inMemory) await resident.gather(ids, out);
    const seconds = (performance.now() - start) / 1000;
    limit = Math.max(limit, (numBatches * batchSize * width * 4) / seconds / 1e9);
  }
  console.log(`${'all in memory (limit)'.padEnd(34)}${limit.toFixed(3).padStart(8)} GB/s`);

  const file = new FileStore(path, shape, { io: 'auto' });
  await file.load();
  const alone = await measure(file, batches);
  report(`file alone${file.isDirect ? ', direct' : ', buffered'}`, alone);
  await file.unload();

  for (const [name, options] of [
    ['fixed rows only', { scores, dynamicShare: 0 }],
    ['fixed, and a tenth by SIEVE', { scores }],
    ['all by SIEVE', {}],
  ] as const) {
    const cold = new FileStore(path, shape, { io: 'auto' });
    const store = new HotColdStore(cold, { size: share * rows * width * 4, ...options });
    await store.load();
    await measure(store, warm);
    const before = store.stats;
    const result = await measure(store, batches);
    const misses = store.stats.misses - before.misses;
    const rate = ((100 * misses) / (numBatches * batchSize)).toFixed(1);
    const times = (alone.seconds / result.seconds).toFixed(2);
    const ofLimit = ((100 * result.gbPerSecond) / limit).toFixed(1);
    report(name, result, `${times}x the file, ${ofLimit} % of memory, ${rate} % missed`);
    await store.unload();
  }
}

const folder = await mkdtemp(join(values.dir, 'skein-hot-cold-'));
try {
  await main(folder);
} finally {
  await rm(folder, { recursive: true });
}
