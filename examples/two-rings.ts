/**
 * Learns to separate two noisy rings, saves the model and loads it again.
 *   npm run example -- two-rings [--seed 3] [--json]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadModel, manualSeed, nn, noGrad, randn, saveModel, scope, type Tensor } from 'skein';

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, json: { type: 'boolean' } },
});
manualSeed(Number(values.seed));

const points = 1000;
const labels = Int32Array.from({ length: points }, (_, i) => i % 2);
const x = randn([points, 2], { std: 0.15 });
const coordinates = x.dataSync();
for (let i = 0; i < points; i++) {
  const angle = (2 * Math.PI * i) / points;
  coordinates[2 * i] += (1 + labels[i]) * Math.cos(angle);
  coordinates[2 * i + 1] += (1 + labels[i]) * Math.sin(angle);
}

const makeModel = (): nn.MLP => new nn.MLP([2, 32, 32, 2], { activation: 'gelu' });
const model = makeModel();
const optimizer = new nn.AdamW(model.parameters(), { lr: 0.01 });
for (let epoch = 1; epoch <= 200; epoch++) {
  const loss = scope(() => {
    optimizer.zeroGrad();
    const value = nn.crossEntropy(model.forward(x), labels);
    value.backward();
    optimizer.step();
    return value.item();
  });
  if (epoch % 50 === 0) {
    if (values.json) console.log(JSON.stringify({ event: 'epoch', epoch, loss }));
    else console.log(`epoch ${epoch}: loss ${loss.toFixed(4)}`);
  }
}

const folder = mkdtempSync(join(tmpdir(), 'skein-example-'));
const path = join(folder, 'rings.safetensors');
await saveModel(path, model);
const loaded = makeModel();
await loadModel(path, loaded);
rmSync(folder, { recursive: true });

const accuracy = (net: nn.MLP): number => {
  const predicted = noGrad((): Tensor => net.forward(x))
    .argmax()
    .dataSync();
  return labels.filter((label, i) => label === predicted[i]).length / points;
};
if (values.json) console.log(JSON.stringify({ event: 'done', train_accuracy: accuracy(loaded) }));
else console.log(`accuracy of the trained model ${accuracy(model)}, of the loaded copy ${accuracy(loaded)}`);
