/**
 * Memory stays flat over 10,000 steps: with a scope, without any dispose, and in inference, all without an await.
 * Each loop runs in a fresh process of the built package, so that nothing else moves its resident size.
 */
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

const prelude = `
import { manualSeed, nn, noGrad, randn, randint, scope } from 'skein';
manualSeed(1);
const x = randn([256, 64]);
const labels = randint(0, 10, [256]);
const model = new nn.MLP([64, 128, 128, 10], { dropout: 0.1 });
const optimizer = new nn.Adam(model.parameters(), { lr: 1e-3 });
const train = () => {
  optimizer.zeroGrad();
  const loss = nn.crossEntropy(model.forward(x), labels);
  loss.backward();
  optimizer.step();
  return loss.item();
};
const steps = {
  scope: () => scope(train),
  plain: train,
  inference: () => model.forward(x).item,
  noGrad: () => noGrad(() => model.forward(x)).shape,
};
const rss = [];
const step = steps[process.argv[1]];
for (let i = 1; i <= 10000; i++) {
  step();
  if (i === 1000 || i === 10000) rss.push(process.memoryUsage.rss());
}
console.log(JSON.stringify(rss));
`;

describe('resident memory after step 1,000 and after step 10,000', () => {
  it.each(['scope', 'plain', 'inference', 'noGrad'])(
    '%s: differs by less than 5 %%',
    (mode) => {
      const output = execFileSync(process.execPath, ['--input-type=module', '--eval', prelude, mode], {
        encoding: 'utf8',
      });
      const [early, late] = JSON.parse(output) as [number, number];
      // Growth is the failure; a later collection may well shrink the process.
      expect(late / early).toBeLessThan(1.05);
    },
    240_000,
  );
});
