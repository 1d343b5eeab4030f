/**
 * `skein quickstart`: learns how a karate club split from its friendships and the side of two members only.
 *
 * A two-layer graph convolution H' = relu(Â·H·W) with the normalised adjacency Â as a dense matrix (34 × 34), trained on
 * members 0 and 33. It shows the whole path in a second: data, model, training, answers a person can judge.
 */
import { karateClub } from '../data/index.js';
import { nativeStatus } from '../native/index.js';
import { Adam, crossEntropy, Linear, Module } from '../nn/index.js';
import {
  eye,
  fromTypedArray,
  manualSeed,
  matmul,
  noGrad,
  relu,
  scope,
  softmax,
  type Tensor,
} from '../tensor/index.js';

export interface QuickstartOptions {
  readonly seed: number;
  readonly json: boolean;
}

class ClubNetwork extends Module {
  readonly first: Linear;
  readonly second: Linear;

  constructor(members: number, hidden: number) {
    super();
    this.first = new Linear(members, hidden);
    this.second = new Linear(hidden, 2);
  }

  forward(adjacency: Tensor, x: Tensor): Tensor {
    const hidden = relu(matmul(adjacency, this.first.forward(x)));
    return matmul(adjacency, this.second.forward(hidden));
  }
}

/** D^−½ (A + I) D^−½ (Kipf and Welling, 2017). */
function normalizedAdjacency(numNodes: number, edges: readonly (readonly [number, number])[]): Tensor {
  const a = new Float32Array(numNodes * numNodes);
  for (let i = 0; i < numNodes; i++) a[i * numNodes + i] = 1;
  for (const [u, v] of edges) {
    a[u * numNodes + v] = 1;
    a[v * numNodes + u] = 1;
  }
  const degree = Array.from({ length: numNodes }, (_, i) =>
    a.subarray(i * numNodes, (i + 1) * numNodes).reduce((s, v) => s + v, 0),
  );
  return fromTypedArray(
    a.map((v, k) => v / Math.sqrt(degree[Math.floor(k / numNodes)] * degree[k % numNodes])),
    [numNodes, numNodes],
  );
}

export function quickstart({ seed, json }: QuickstartOptions): void {
  const print = (line: string): void => void (json ? process.stderr : process.stdout).write(`${line}\n`);
  const status = nativeStatus();
  print(
    `Skein quickstart: Zachary's karate club (${status.backend} kernels${status.level === null ? '' : `, ${status.level}`}, ${status.threads} threads, seed ${seed})`,
  );
  manualSeed(seed);
  const club = karateClub();
  print(`34 members, ${club.edges.length} friendships. After a quarrel the club split in two.`);
  print(
    'We tell the network the side of member 0 (the instructor) and 33 (the administrator), nobody else.\n',
  );

  const adjacency = normalizedAdjacency(club.numNodes, club.edges);
  const features = eye(club.numNodes);
  const known = Int32Array.from(club.labels, (label, i) => (i === 0 || i === 33 ? label : -1));
  const model = new ClubNetwork(club.numNodes, 16);
  const optimizer = new Adam(model.parameters(), { lr: 0.01, weightDecay: 5e-4 });
  const started = performance.now();
  const epochs = 200;
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const loss = scope(() => {
      optimizer.zeroGrad();
      const value = crossEntropy(model.forward(adjacency, features), known);
      value.backward();
      optimizer.step();
      return value.item();
    });
    if (json && (epoch === 1 || epoch % 50 === 0))
      process.stdout.write(`${JSON.stringify({ event: 'epoch', epoch, loss })}\n`);
    if (epoch === 1 || epoch % 50 === 0)
      print(`epoch ${String(epoch).padStart(3)}   loss ${loss.toFixed(4)}   ${bar(epoch / epochs)}`);
  }
  const milliseconds = performance.now() - started;
  report(model, adjacency, features, club.labels, milliseconds, print, json);
}

function report(
  model: ClubNetwork,
  adjacency: Tensor,
  features: Tensor,
  labels: Int32Array,
  milliseconds: number,
  print: (line: string) => void,
  json: boolean,
): void {
  const probability = noGrad(() => softmax(model.forward(adjacency, features))).dataSync();
  const predicted = Int32Array.from(labels, (_, i) => (probability[2 * i + 1] > 0.5 ? 1 : 0));
  const wrong = [...labels.keys()].filter((i) => predicted[i] !== labels[i]);
  const unseen = labels.length - 2;
  const accuracy = (unseen - wrong.length) / unseen;
  print(`\nTrained in ${milliseconds.toFixed(0)} ms. The sides it found for all ${labels.length} members:`);
  for (const [side, name] of ['the instructor (0)', 'the administrator (33)'].entries()) {
    print(`  with ${name}: ${[...predicted.keys()].filter((i) => predicted[i] === side).join(' ')}`);
  }
  print(
    `  right for ${unseen - wrong.length} of the ${unseen} it was told nothing about (${(100 * accuracy).toFixed(1)} %)`,
  );
  for (const i of wrong) {
    print(
      `  wrong about member ${i}, ${(100 * Math.max(probability[2 * i], probability[2 * i + 1])).toFixed(0)} % sure`,
    );
  }
  print(
    '\nNext: npm test (all tests) · npm run bench -- kernels (speed beside PyTorch) · README.md (write your own)',
  );
  if (json)
    process.stdout.write(
      `${JSON.stringify({ event: 'done', accuracy, wrong, milliseconds: Math.round(milliseconds) })}\n`,
    );
}

function bar(share: number): string {
  const full = Math.round(20 * share);
  return `[${'#'.repeat(full)}${'.'.repeat(20 - full)}]`;
}
