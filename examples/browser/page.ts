/**
 * The page of browser/serve: a random graph of four communities, neighbourhoods sampled batch by batch, GraphSAGE
 * trained on them. Shows the device in use, and the accuracy on unseen nodes.
 */
import { GraphSAGE } from 'skein/gnn';
import { CGPUFeature, enableWebGpu, GPUSampler, type GpuDevice, HostSampler, openGpuDevice } from 'skein/gpu';
import { Graph } from 'skein/graph';
import { Adam, crossEntropy } from 'skein/nn';
import { fromTypedArray, manualSeed, noGrad, randn, scope, type Tensor } from 'skein/tensor';
import { DeviceError, Random } from 'skein/util';

declare const document: { querySelector(selector: string): { append(text: string): void } | null };

const numClasses = 4;
const numNodes = 800;
const numFeatures = 16;
const labels = Int32Array.from({ length: numNodes }, (_, v) => v % numClasses);
const nodes = Int32Array.from(labels.keys());
const isTraining = (v: number): boolean => v % 8 < numClasses;
const seeds = nodes.filter(isTraining);
const rules = { sizes: [10, 5], seed: 1 };

function say(text: string): void {
  document.querySelector('#log')?.append(`${text}\n`);
}

/** Generates a graph with nine of ten edges within a community, and noisy features that depend on it. */
function makeGraph(): { graph: Graph; features: Tensor } {
  const random = new Random(1);
  const src: number[] = [];
  const dst: number[] = [];
  for (let edge = 0; edge < 12 * numNodes; edge++) {
    const u = random.nextInt(numNodes);
    const near = u - (u % numClasses) + numClasses * random.nextInt(numNodes / numClasses) + labels[u];
    src.push(u);
    dst.push(random.nextFloat() < 0.9 ? near % numNodes : random.nextInt(numNodes));
  }
  manualSeed(1);
  const values = Float32Array.from(randn([numNodes, numFeatures]).dataSync());
  for (let v = 0; v < numNodes; v++) values[v * numFeatures + labels[v]] += 0.7;
  return {
    graph: Graph.fromEdges(src, dst, { numNodes }),
    features: fromTypedArray(values, [numNodes, numFeatures]),
  };
}

/** Returns the GPU, or null if there is none. */
async function findDevice(): Promise<GpuDevice | null> {
  try {
    return await openGpuDevice();
  } catch (error) {
    if (!(error instanceof DeviceError)) throw error;
    say(error.message);
    return null;
  }
}

/** Runs everything on the device: neighbourhoods, rows of features, the model. Without a device, on the CPU. */
async function main(): Promise<void> {
  const { graph, features } = makeGraph();
  const gpu = await findDevice();
  say(`Training on ${gpu === null ? 'the CPU' : gpu.info.description || gpu.info.architecture}.`);
  const sampler = gpu === null ? new HostSampler(graph, rules) : new GPUSampler(gpu, graph, rules);
  const table = await new CGPUFeature(graph, gpu, '16K', { fanouts: rules.sizes, seeds }).fromCpuTensor(
    features,
  );
  const tensors = gpu === null ? undefined : await enableWebGpu(gpu);
  const model = new GraphSAGE([numFeatures, 32, numClasses]).to(tensors ?? 'cpu');
  const optimizer = new Adam(model.parameters(), { lr: 0.01 });

  for (let epoch = 1; epoch <= 10; epoch++) {
    const losses: Tensor[] = [];
    for (let start = 0; start < seeds.length; start += 100) {
      const own = seeds.subarray(start, start + 100);
      const { blocks, nodeIds } = await sampler.sampleAsync(own, { epoch, step: start });
      const rows = await table.get(nodeIds);
      const targets = own.map((v) => labels[v]);
      losses.push(
        scope(() => trainStep(optimizer, () => model.forward(blocks, rows.toTensor(tensors)), targets)),
      );
      rows.release();
    }
    const means = await Promise.all(losses.map(async (loss) => (await loss.data())[0]));
    if (epoch % 2 === 0)
      say(`epoch ${epoch}: loss ${(means.reduce((a, b) => a + b) / means.length).toFixed(4)}`);
    for (const loss of losses) loss.dispose();
  }

  await model.cpu();
  report(noGrad(() => model.forward(graph, features)));
  table.release();
  sampler.release();
  gpu?.destroy();
}

function trainStep(optimizer: Adam, forward: () => Tensor, targets: Int32Array): Tensor {
  optimizer.zeroGrad();
  const loss = crossEntropy(forward(), targets);
  loss.backward();
  optimizer.step();
  return loss.detach();
}

function report(scores: Tensor): void {
  const guesses = scores.argmax().dataSync();
  const unseen = nodes.filter((v) => !isTraining(v));
  const right = unseen.filter((v) => guesses[v] === labels[v]).length;
  say(`accuracy on ${unseen.length} unseen nodes: ${((100 * right) / unseen.length).toFixed(1)} %`);
}

main().catch((error) => say(String(error)));
