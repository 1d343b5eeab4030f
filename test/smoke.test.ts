/**
 * A tour of the whole product in a few seconds: run it before each commit.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadModel, manualSeed, nativeStatus, nn, noGrad, randn, saveModel, scope, type Tensor } from 'skein';
import { describe, expect, it } from 'vitest';

/** Points on two rings, labelled by ring. */
function rings(n: number): { x: Tensor; labels: Int32Array } {
  const x = randn([n, 2], { std: 0.1 });
  const labels = Int32Array.from({ length: n }, (_, i) => i % 2);
  const data = x.dataSync();
  for (let i = 0; i < n; i++) {
    const angle = (2 * Math.PI * i) / n;
    data[2 * i] += (1 + labels[i]) * Math.cos(angle);
    data[2 * i + 1] += (1 + labels[i]) * Math.sin(angle);
  }
  return { x, labels };
}

describe('smoke', () => {
  it('trains, evaluates, saves and loads', async () => {
    manualSeed(11);
    const { x, labels } = rings(200);
    const model = new nn.MLP([2, 32, 32, 2]);
    const optimizer = new nn.Adam(model.parameters(), { lr: 0.01 });
    const losses: number[] = [];
    for (let step = 0; step < 150; step++) {
      losses.push(
        scope(() => {
          optimizer.zeroGrad();
          const loss = nn.crossEntropy(model.forward(x), labels);
          loss.backward();
          optimizer.step();
          return loss.item();
        }),
      );
    }
    expect(losses[149]).toBeLessThan(losses[0] / 5);
    model.eval();
    const logits = noGrad(() => model.forward(x));
    const right = logits
      .argmax()
      .dataSync()
      .filter((label: number, i: number) => label === labels[i]).length;
    expect(right).toBeGreaterThan(190);

    const folder = mkdtempSync(join(tmpdir(), 'skein-'));
    try {
      const path = join(folder, 'model.safetensors');
      await saveModel(path, model);
      const copy = new nn.MLP([2, 32, 32, 2]);
      await loadModel(path, copy);
      copy.eval();
      expect(noGrad(() => copy.forward(x)).toArray()).toEqual(logits.toArray());
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('shows the kernels in use', () => {
    const status = nativeStatus();
    expect(['native', 'reference']).toContain(status.backend);
    expect(status.backend === 'native').toBe(status.reason === null);
  });
});
