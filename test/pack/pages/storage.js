/** The exports of skein/storage, dist and train that need no Node.js, and those that do. */
import { karateClub, readNpy } from 'skein/data';
import { openCommunicator, SelfCommunicator } from 'skein/dist';
import { GCN } from 'skein/gnn';
import { Graph } from 'skein/graph';
import { FileStore, MemoryStore, rowSGD } from 'skein/storage';
import { eye, manualSeed } from 'skein/tensor';
import { trainNodeClassifier, trainRun } from 'skein/train';
import { leave } from './fit.js';

manualSeed(1);
const store = new MemoryStore(Float32Array.of(1, 2, 3, 4), { rows: 2, width: 2 });
const [last] = (await store.gather(Int32Array.of(1))).subarray(1);
if (last !== 4 || new SelfCommunicator().size !== 1 || typeof rowSGD !== 'function')
  throw new Error('wrong parts');

const fromFile = new MemoryStore('rows.bin', { rows: 2, width: 2 });
const refusal = await fromFile.load().catch((error) => error.message);
if (!String(refusal).includes('expected Node.js to read rows.bin'))
  throw new Error(`MemoryStore from a file: ${refusal}`);

const refused = {
  readNpy: () => readNpy('a.npy'),
  openCommunicator: () => openCommunicator(),
  FileStore: () => new FileStore('a', { rows: 1, width: 1 }),
  trainRun: () => trainRun({}),
};
for (const [name, use] of Object.entries(refused)) {
  let message = 'nothing was thrown';
  try {
    use();
  } catch (error) {
    message = error.message;
  }
  if (!message.startsWith(`${name}: `) || !message.includes('needs Node.js'))
    throw new Error(`${name}: ${message}`);
}

const club = karateClub();
const [src, dst] = [0, 1].map((end) => club.edges.flatMap((edge) => [edge[end], edge[1 - end]]));
const nodes = [...Array(club.numNodes).keys()];
const splits = {
  train: Int32Array.from(nodes.slice(0, 20)),
  valid: Int32Array.from(nodes.slice(20, 27)),
  test: Int32Array.from(nodes.slice(27)),
};
const data = {
  graph: Graph.fromEdges(src, dst, { numNodes: club.numNodes }),
  features: eye(club.numNodes),
  labels: Int32Array.from(club.labels),
  numClasses: 2,
  splits,
};
const losses = [];
const model = new GCN([club.numNodes, 16, 2]);
const result = await trainNodeClassifier({
  model,
  data,
  epochs: 60,
  seed: 1,
  onEpoch: ({ loss }) => losses.push(loss),
});
leave(losses.length > 0 ? losses : result.history.map(({ loss }) => loss));
