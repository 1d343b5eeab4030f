/** A table with more partitions than its rows fill: the last ones are empty, and reading through leaves them out. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BufferedColumn, BufferedTable, PartitionBuffer, PartitionLayout, rowSGD } from 'skein/storage';
import { expect, it } from 'vitest';
import { TableFiles } from '#internal/storage/table-files.js';

it('yields no tile of an empty partition', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-empty-'));
  try {
    const optimizer = rowSGD({ learningRate: 0.1 });
    // Three partitions of two rows hold all five; the fourth has none.
    const files = await TableFiles.create(folder, {
      layout: new PartitionLayout(5, 4),
      columns: optimizer.columns('embeddings', 3),
      init: ({ values, start }) => void values.fill(start),
    });
    const table = new BufferedTable(new PartitionBuffer(files, 2));
    table.setOrdering([Int32Array.of(0, 3)]);
    const seen: [number, number][] = [];
    for await (const { start, count, rows } of new BufferedColumn(table, 'embeddings').tiles()) {
      expect(rows.length).toBe(3 * count);
      seen.push([start, count]);
    }
    expect(seen).toEqual([
      [0, 2],
      [2, 2],
      [4, 1],
    ]);
    await table.unload(false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
