/** Models that were trained, in onnxruntime: the same scores and classes as here. Cora when $SKEIN_DATA has it. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gnn, manualSeed, noGrad, SparseMatrix, trainNodeClassifier } from 'skein';
import { normalizeFeatures } from 'skein/data';
import { exportOnnx } from 'skein/interop';
import { expect, test } from 'vitest';
import { loadPapers } from '../../examples/shared/cora-or-generated.js';
import { edgeIndex, fromTensor, largestDifference, runOnnx } from './onnx-session.js';

const { name, data } = await loadPapers();
const features = name === 'cora' ? normalizeFeatures(data.features) : data.features;
const width = features.shape[1];
const makers = {
  GCN: () => new gnn.GCN([width, 16, data.numClasses], { dropout: 0.5 }),
  'GraphSAGE with batch norm': () =>
    new gnn.GraphSAGE([width, 16, data.numClasses], { dropout: 0.5, norm: 'batch' }),
  GAT: () => new gnn.GAT([width, 4, data.numClasses], { heads: 4, dropout: 0.5, attentionDropout: 0.3 }),
};

for (const [kind, make] of Object.entries(makers)) {
  test(`a trained ${kind} on ${name === 'cora' ? 'Cora' : 'generated communities'}`, async () => {
    manualSeed(1);
    const model = make();
    await trainNodeClassifier({ model, data: { ...data, features }, epochs: 25, seed: 1 });
    model.eval();
    const want = noGrad(() => model.forward(data.graph, features)).dataSync() as Float32Array;
    const x = fromTensor(features instanceof SparseMatrix ? features.toDense() : features);
    const { y } = await runOnnx(exportOnnx(model), { x, edge_index: edgeIndex(data.graph) });
    expect(largestDifference(y.data, want)).toBeLessThan(1e-4);
    const spread = want.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    expect(spread).toBeGreaterThan(0.1);
  }, 240_000);
}

test('examples/interop/onnx-inference runs and both engines agree', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const args = [join(root, 'scripts/example.mjs'), 'interop/onnx-inference', '--json'];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: root });
  expect(status, stderr).toBe(0);
  const done = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<string, number>;
  expect(done).toMatchObject({ event: 'done', dataset: name });
  expect(done['skein_accuracy']).toBeGreaterThan(0.75);
  expect(done['onnx_accuracy']).toBe(done['skein_accuracy']);
  expect(done['largest_difference']).toBeLessThan(1e-4);
}, 240_000);
