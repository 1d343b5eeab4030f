/**
 * Same seed, same bytes of trained parameters for 1, 2 and 4 threads, each in a process of its own.
 */
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

const program = `
import { createHash } from 'node:crypto';
import { manualSeed, nn, randint, randn, scope } from 'skein';
manualSeed(5);
const x = randn([4096, 96]);
const labels = randint(0, 47, [4096]);
const model = new nn.MLP([96, 200, 200, 47], { dropout: 0.2, norm: 'layer' });
const table = new nn.Embedding(500, 96, { sparse: true });
const ids = randint(0, 500, [4096]);
const optimizer = new nn.Adam([...model.parameters(), ...table.parameters()], { lr: 1e-2 });
for (let i = 0; i < 20; i++) {
  scope(() => {
    optimizer.zeroGrad();
    nn.crossEntropy(model.forward(x.add(table.forward(ids))), labels).backward();
    nn.clipGradNorm(model.parameters(), 1);
    optimizer.step();
  });
}
const hash = createHash('sha256');
for (const p of [...model.parameters(), ...table.parameters()]) hash.update(p.dataSync());
console.log(hash.digest('hex'));
`;

const graphProgram = `
import { createHash } from 'node:crypto';
import { gnn, manualSeed, trainNodeClassifier } from 'skein';
import { randomNodeSplit, stochasticBlockModel } from 'skein/data';
const probabilities = [[0.02, 0.002], [0.002, 0.02]];
const data = stochasticBlockModel([1500, 1500], { probabilities, seed: 1 });
const splits = randomNodeSplit(data.labels, { trainPerClass: 300, validPerClass: 30, seed: 1 });
const hash = createHash('sha256');
for (const sampling of [undefined, { fanouts: [10, 5], batchSize: 100, seed: 3, prefetch: 3 }]) {
  manualSeed(5);
  for (const model of [
    new gnn.GAT([16, 8, 2], { heads: 4, dropout: 0.2, attentionDropout: 0.2 }),
    new gnn.GraphSAGE([16, 33, 2], { dropout: 0.2, norm: 'batch', aggregator: 'max' }),
    new gnn.GCN([16, 40, 2], { dropout: 0.2, residual: true }),
  ]) {
    await trainNodeClassifier({ model, data: { ...data, splits }, epochs: 3, seed: 2, ...(sampling && { sampling }) });
    for (const p of model.parameters()) hash.update(p.dataSync());
  }
}
console.log(hash.digest('hex'));
`;

it.each([
  ['a network with an embedding', program],
  ['graph networks, on the whole graph and on samples', graphProgram],
])(
  'SKEIN_THREADS = 1, 2, 4 train %s to identical bytes',
  (_what, source) => {
    const digests = ['1', '2', '4'].map((threads) =>
      execFileSync(process.execPath, ['--input-type=module', '--eval', source], {
        encoding: 'utf8',
        env: { ...process.env, SKEIN_THREADS: threads },
      }).trim(),
    );
    expect(digests[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set(digests).size).toBe(1);
  },
  120_000,
);
