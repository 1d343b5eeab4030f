/**
 * Predicts how a karate club split, from its friendships and the side of two members (Zachary, 1977).
 *   npm run example -- karate-club [--seed 3] [--json]
 */
import { parseArgs } from 'node:util';
import {
  eye,
  fromTypedArray,
  manualSeed,
  matmul,
  nn,
  noGrad,
  relu,
  scope,
  softmax,
  type Tensor,
} from 'skein';
import { karateClub } from 'skein/data';

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, json: { type: 'boolean' } },
});
manualSeed(Number(values.seed));
const club = karateClub();
const members = club.numNodes;

/** D^−½ (A + I) D^−½ (Kipf and Welling, 2017), as a dense matrix: the club is small. */
function normalizedAdjacency(): Tensor {
  const a = new Float32Array(members * members);
  for (let i = 0; i < members; i++) a[i * members + i] = 1;
  for (const [u, v] of club.edges) a[u * members + v] = a[v * members + u] = 1;
  const degree = Array.from({ length: members }, (_, i) =>
    a.subarray(i * members, (i + 1) * members).reduce((sum, value) => sum + value, 0),
  );
  const scaled = a.map(
    (value, k) => value / Math.sqrt(degree[Math.floor(k / members)] * degree[k % members]),
  );
  return fromTypedArray(scaled, [members, members]);
}

class ClubNetwork extends nn.Module {
  readonly first = new nn.Linear(members, 16);
  readonly second = new nn.Linear(16, 2);

  forward(adjacency: Tensor, x: Tensor): Tensor {
    const hidden = relu(matmul(adjacency, this.first.forward(x)));
    return matmul(adjacency, this.second.forward(hidden));
  }
}

const adjacency = normalizedAdjacency();
const features = eye(members);
// Only the instructor (0) and the administrator (33) are known.
const known = Int32Array.from(club.labels, (label, i) => (i === 0 || i === 33 ? label : -1));
const model = new ClubNetwork();
const optimizer = new nn.Adam(model.parameters(), { lr: 0.01, weightDecay: 5e-4 });
for (let epoch = 1; epoch <= 200; epoch++) {
  const loss = scope(() => {
    optimizer.zeroGrad();
    const value = nn.crossEntropy(model.forward(adjacency, features), known);
    value.backward();
    optimizer.step();
    return value.item();
  });
  if (epoch % 50 !== 0) continue;
  if (values.json) console.log(JSON.stringify({ event: 'epoch', epoch, loss }));
  else console.log(`epoch ${epoch}: loss ${loss.toFixed(4)}`);
}

const probability = noGrad(() => softmax(model.forward(adjacency, features))).dataSync();
const side = Int32Array.from(club.labels, (_, i) => (probability[2 * i + 1] > 0.5 ? 1 : 0));
const wrong = [...side.keys()].filter((i) => side[i] !== club.labels[i]);
const accuracy = 1 - wrong.length / (members - 2);
if (values.json) console.log(JSON.stringify({ event: 'done', accuracy, wrong }));
else {
  for (const [value, name] of ['the instructor (0)', 'the administrator (33)'].entries())
    console.log(`with ${name}: ${[...side.keys()].filter((i) => side[i] === value).join(' ')}`);
  console.log(
    `right for ${(100 * accuracy).toFixed(1)} % of the ${members - 2} members without a given label`,
  );
}
