/**
 * A process that changes a table without end, for kill.test.ts: in round r every row becomes r, partition by partition;
 * after each round the manifest is saved, then old versions are removed.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PartitionBuffer, PartitionLayout, planEdgeBuckets } from 'skein/storage';
import { TableFiles } from '#internal/storage/table-files.js';
import type { TableManifest } from '#internal/storage/table-manifest.js';

const folder = process.argv[2];
const saved = join(folder, 'manifest.json');
const options = {
  layout: new PartitionLayout(3000, 6),
  columns: [{ name: 'x', width: 16, dtype: 'f32', writable: true } as const],
};
const start = existsSync(saved)
  ? (JSON.parse(readFileSync(saved, 'utf8')) as { round: number; manifest: TableManifest })
  : null;
const table = join(folder, 'table');
const files =
  start === null ? await TableFiles.create(table, options) : await TableFiles.open(table, start.manifest);
const buffer = new PartitionBuffer(files, 2);
for (let round = (start?.round ?? 0) + 1; ; round++) {
  const plan = planEdgeBuckets({ ordering: 'COMET', partitions: 6, capacity: 2, seed: 1, epoch: round });
  buffer.setOrdering(plan.states);
  await buffer.load();
  for (;;) {
    (buffer.block() as Float32Array).fill(round);
    buffer.markDirty();
    if (!buffer.hasSwap()) break;
    await buffer.performNextSwap();
  }
  const manifest = await buffer.checkpoint();
  writeFileSync(`${saved}.tmp`, JSON.stringify({ round, manifest }));
  renameSync(`${saved}.tmp`, saved);
  await files.removeUnreferenced([manifest]);
  process.stdout.write(`${round}\n`);
}
