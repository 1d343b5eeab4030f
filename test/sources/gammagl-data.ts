/** Data and model of the programs in gammagl-gpu.test.ts, the same in every thread: a graph with communities in place of Reddit. */
import { type Batch, manualSeed, noGrad } from 'skein';
import { stochasticBlockModel } from 'skein/data';
import { GraphSAGE } from 'skein/gnn';
import { reverse } from 'skein/graph';
import { Adam, crossEntropy } from 'skein/nn';
import { scope, type Tensor } from 'skein/tensor';

export const numFeatures = 16;
const made = stochasticBlockModel([80, 80, 80], {
  probabilities: [0, 1, 2].map((i) => [0, 1, 2].map((j) => (i === j ? 0.12 : 0.006))),
  ...{ numFeatures, seed: 5 },
});
export const data = { graph: made.graph, x: made.features as Tensor, y: made.labels };
const numNodes = data.y.length;

/** sp.csr_matrix((np.ones(E), edge_index)): row v has the nodes that the edges of v lead to. */
export const csr = reverse(data.graph);

/** Batches of the nodes that are learnt from. */
export const trainLoader: readonly Int32Array[] = [0, 40, 80, 120].map((start) =>
  Int32Array.from({ length: 40 }, (_, i) => ((start + i) * 7) % numNodes),
);

export interface Trained {
  readonly model: GraphSAGE;
  readonly optimizer: Adam;
}

export function newModel(): Trained {
  manualSeed(3);
  const model = new GraphSAGE([numFeatures, 16, 3]);
  return { model, optimizer: new Adam(model.parameters(), { lr: 0.02 }) };
}

/** The document's dictionary: features of all nodes, labels and rows of the seeds, the layers' edges. */
export interface StepData {
  readonly x: Tensor;
  readonly y: Int32Array;
  readonly dstNode: Int32Array;
  readonly subgs: Batch['blocks'];
}

/** Forward, backward and step; `average` exchanges gradients with other workers before the step. */
export async function trainOneStep(
  { model, optimizer }: Trained,
  { x, y, dstNode, subgs }: StepData,
  average: () => Promise<void> = async () => {},
): Promise<number> {
  optimizer.zeroGrad();
  const trainLoss = scope(() => {
    const loss = crossEntropy(
      model.forward(subgs, x),
      dstNode.map((node) => y[node]),
    );
    loss.backward();
    return loss.item();
  });
  await average();
  optimizer.step();
  return trainLoss;
}

export function accuracy({ model }: Trained): number {
  const guesses = noGrad(() => model.forward(data.graph, data.x))
    .argmax()
    .dataSync();
  return data.y.filter((label, node) => label === guesses[node]).length / numNodes;
}
