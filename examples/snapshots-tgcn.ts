/**
 * T-GCN on snapshots of CollegeMsg: predicts who is active in the next window, compared with two baselines without
 * learning. The stream is split into 100 windows of two days; the first 70 are for training, the last 30 for the test.
 *   npm run example -- snapshots-tgcn [--seed 3] [--json]
 */
import { parseArgs } from 'node:util';
import { fromTypedArray, manualSeed, nn, noGrad, scope, TemporalGraph, type Tensor } from 'skein';
import { loadTemporalDataset } from 'skein/data';
import { averagePrecision, rocAuc, snapshotsOf, TGCN } from 'skein/temporal';

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, json: { type: 'boolean', default: false } },
});
const [windows, trainWindows, chunk, epochs] = [100, 70, 10, 15];

const { events, numNodes } = await loadTemporalDataset('collegemsg');
const snapshots = snapshotsOf(new TemporalGraph(events, { numNodes }), { count: windows });
const degrees = snapshots.map(({ graph }) => graph.inDegrees());
/**
 * The input of a window: the logarithm of each node's activity. The target: the nodes that are active in the next
 * window.
 */
const input = degrees.map((d) => fromTypedArray(Float32Array.from(d, Math.log1p), [numNodes, 1]));
const active = degrees.map((d) => Float32Array.from(d, (count) => Number(count > 0)));

manualSeed(Number(values.seed));
const model = new TGCN(1, 32);
const output = new nn.Linear(32, 1);
const optimizer = new nn.Adam([...model.parameters(), ...output.parameters()], { lr: 0.01 });

/** Returns logits of windows `from` + 1 … `to`, and the hidden state after them. */
function predict(from: number, to: number, before?: Tensor): { logits: Tensor[]; state: Tensor | undefined } {
  const logits: Tensor[] = [];
  let state = before;
  for (let w = from; w < to; w++) {
    const step = model.step(snapshots[w].graph, input[w], state);
    state = step.state;
    logits.push(output.forward(step.h).reshape([numNodes]));
  }
  return { logits, state };
}

for (let epoch = 1; epoch <= epochs; epoch++) {
  let state: Tensor | undefined;
  let total = 0;
  // Backpropagation is truncated to one chunk of windows; the hidden state is carried over.
  for (let from = 0; from < trainWindows - 1; from += chunk) {
    const to = Math.min(from + chunk, trainWindows - 1);
    state = scope(() => {
      const { logits, state: after } = predict(from, to, state);
      const losses = logits.map((l, i) => nn.bceWithLogits(l, fromTypedArray(active[from + i + 1])));
      const loss = losses.reduce((sum, one) => sum.add(one)).mul(1 / losses.length);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      total += loss.item() * losses.length;
      return after?.detach();
    });
  }
  const loss = total / (trainWindows - 1);
  if (values.json) console.log(JSON.stringify({ event: 'epoch', epoch, loss }));
  else if (epoch % 5 === 0) console.log(`epoch ${epoch}: loss ${loss.toFixed(4)}`);
}

// Windows 70 … 99 are predicted from the windows before them, with the hidden state from the first window on.
const { logits } = scope(() => noGrad(() => predict(0, windows - 1)));
const tested = Array.from({ length: windows - trainWindows }, (_, i) => trainWindows + i);
const truth = tested.flatMap((w) => [...active[w]]);
const scores = tested.flatMap((w) => [...logits[w - 1].dataSync()]);
const score = (guess: readonly number[]) => ({
  ap: averagePrecision(guess, truth),
  auc: rocAuc(guess, truth),
});
/** Exponentially decayed mean of past activity, with factor 0.8 per window. */
const faded = degrees.map(() => new Float64Array(numNodes));
for (let w = 1; w < windows; w++)
  for (let i = 0; i < numNodes; i++) faded[w][i] = 0.8 * faded[w - 1][i] + active[w - 1][i];
const results = {
  tgcn: score(scores),
  last_value: score(tested.flatMap((w) => [...degrees[w - 1]])),
  faded_mean: score(tested.flatMap((w) => [...faded[w]])),
};
if (values.json) console.log(JSON.stringify({ event: 'done', ...results }));
else
  for (const [name, { ap, auc }] of Object.entries(results))
    console.log(`${name.padEnd(10)}  ap ${ap.toFixed(3)}  auc ${auc.toFixed(3)}`);
