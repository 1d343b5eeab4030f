/**
 * One rank of the test of the rows that workers hold: opens the storage of each configuration of a file and prints its
 * size here.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PreparedDataset } from 'skein/data';
import { RemoteRowStore } from 'skein/dist';
import { type SkeinConfig, trainRun } from 'skein/train';
import { openWorkers } from '#internal/train/run/workers.js';
import { initializeSharedStorage } from '#internal/train/tasks/graph/storage/initialize-storage.js';

const [path] = process.argv.slice(2);
const configs = JSON.parse(readFileSync(path, 'utf8')) as SkeinConfig[];
const group = openWorkers(configs[0].distributed);
const folder = mkdtempSync(join(tmpdir(), 'skein-held-'));
await group.run(async () => {
  for (const [run, config] of configs.entries()) {
    if (config.training.negative_sampling.filtered) {
      const error = await trainRun({ config, group }).catch(({ message }: Error) => message);
      process.stdout.write(`${JSON.stringify({ rank: group.rank, run, error })}\n`);
      continue;
    }
    const dataset = await PreparedDataset.open(config.storage.dataset.dataset_dir);
    const options = { tableDirectory: join(folder, String(run)), group };
    const { storage } = await initializeSharedStorage(config, dataset, options);
    const { features, spread } = storage;
    const rows = features instanceof RemoteRowStore ? features.local.length / features.width : features?.rows;
    const edges = spread?.numLocalEdges ?? (await storage.trainEdges()).src.length;
    process.stdout.write(`${JSON.stringify({ rank: group.rank, run, rows, edges })}\n`);
    group.comm.barrier();
    storage.close();
  }
});
rmSync(folder, { recursive: true });
