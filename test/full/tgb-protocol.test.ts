/**
 * The protocol of the Temporal Graph Benchmark on tgbl-wiki: figures that its leaderboard publishes for EdgeBank (0.495 and 0.571
 * test, 0.527 and 0.600 validation), and those of local, then global recency, with every earlier event visible.
 */
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporalRun } from '../train/temporal-files.js';

const data = process.env['SKEIN_DATA'] ?? 'data';

describe.skipIf(!existsSync(join(data, 'wikipedia')))('wikipedia (needs SKEIN_DATA)', () => {
  test.each([
    // kind, cadence, validation, test, tolerance
    ['edge_bank', 'batch', 0.5267, 0.4947, 1e-4],
    ['{ kind: edge_bank, window_fraction: 0.15 }', 'batch', 0.5997, 0.571, 1e-4],
    ['edge_bank', 'moment', 0.5613, 0.525, 1e-4],
    ['{ kind: edge_bank, window_fraction: 0.15 }', 'moment', 0.666, 0.644, 1e-4],
    ['local_global', 'moment', 0.8415, 0.8206, 2e-4],
    ['local_global', 'batch', 0.7588, 0.729, 2e-4],
    ['recency_popularity', 'moment', 0.8427, 0.8203, 2e-4],
  ] as const)('%s, cadence %s', async (model, cadence, validation, tested, tolerance) => {
    const at = mkdtempSync(join(tmpdir(), 'tgb-'));
    const file = join(at, 'run.yaml');
    writeFileSync(
      file,
      `protocol: tgb\ndataset: wikipedia\nmodel: ${model}\nevaluation: { cadence: ${cadence} }\nstorage: { model_dir: ${join(at, 'run')} }\n`,
    );
    const found = await temporalRun(file);
    expect(Math.abs(found.validation['mrr'] - validation)).toBeLessThan(tolerance);
    expect(Math.abs(found.test['mrr'] - tested)).toBeLessThan(tolerance);
  });
});
