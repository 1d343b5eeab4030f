/** Training on the GPU of a page gives the same losses as on the CPU. */
import { GCN } from 'skein/gnn';
import { enableWebGpu, type GpuDevice } from 'skein/gpu';
import { Graph } from 'skein/graph';
import { Adam, crossEntropy } from 'skein/nn';
import { manualSeed, randn, scope, type Tensor } from 'skein/tensor';
import { close, ok } from '../cases/assert.js';
import type { GpuCase } from '../cases/case.js';

const numNodes = 40;
const labels = Int32Array.from({ length: numNodes }, (_, v) => v % 3);

function ring(): Graph {
  const nodes = Array.from({ length: numNodes }, (_, v) => v);
  const src = nodes.flatMap((v) => [v, v, v]);
  const dst = nodes.flatMap((v) => [1, 3, 9].map((step) => (v + step) % numNodes));
  return Graph.fromEdges(src, dst, { numNodes });
}

async function losses(device: 'cpu' | 'webgpu', epochs: number): Promise<number[]> {
  manualSeed(2);
  const graph = ring();
  const model = new GCN([6, 8, 3]).to(device);
  const x = randn([numNodes, 6]).to(device);
  const optimizer = new Adam(model.parameters(), { lr: 0.02 });
  const seen: Tensor[] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    seen.push(
      scope(() => {
        optimizer.zeroGrad();
        const loss = crossEntropy(model.forward(graph, x), labels);
        loss.backward();
        optimizer.step();
        return loss.detach();
      }),
    );
  }
  const values: number[] = [];
  for (const loss of seen) {
    values.push((await loss.data())[0]);
    loss.dispose();
  }
  for (const value of [x, ...model.parameters()]) {
    value.zeroGrad();
    value.dispose();
  }
  return values;
}

async function trainsAsTheCpu(gpu: GpuDevice): Promise<void> {
  const tensors = await enableWebGpu(gpu);
  try {
    const [here, there] = [await losses('cpu', 15), await losses('webgpu', 15)];
    ok(here[14] < here[0], `loss falls from ${here[0]} to ${here[14]}`);
    close(there, here, { absolute: 1e-4, relative: 0 }, 'losses');
  } finally {
    tensors.release();
  }
}

export const trainingCases: readonly GpuCase[] = [
  { group: 'browser', name: 'trains a GCN on the device as on the CPU', run: trainsAsTheCpu },
];
