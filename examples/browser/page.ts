/**
 * The page of browser/serve: a random graph of four communities, neighbourhoods sampled batch by batch, GraphSAGE trained on
 * them. Shows what runs where, and the accuracy on nodes that it has not seen.
 */
import { GraphSAGE } from 'skein/gnn';
import { GPUSampler, type GpuDevice, openGpuDevice } from 'skein/gpu';
import { Graph } from 'skein/graph';
import { Adam, crossEntropy } from 'skein/nn';
import { type Batch, NeighborSampler } from 'skein/sample';
import { fromTypedArray, gatherRows, manualSeed, noGrad, randn, scope, type Tensor } from 'skein/tensor';
import { DeviceError, Random } from 'skein/util';

declare const document: { querySelector(selector: string): { append(text: string): void } | null };

const numClasses = 4;
const numNodes = 800;
const numFeatures = 16;
const fanouts = [10, 5];
const labels = Int32Array.from({ length: numNodes }, (_, v) => v % numClasses);

function say(text: string): void {
  document.querySelector('#log')?.append(`${text}\n`);
}

/** Nine of ten edges stay within a community; features are noise with a hint of it. */
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

/** The graphics processor, or null where there is none. */
async function findDevice(): Promise<GpuDevice | null> {
  try {
    return await openGpuDevice();
  } catch (error) {
    if (!(error instanceof DeviceError)) throw error;
    say(error.message);
    return null;
  }
}

async function main(): Promise<void> {
  const { graph, features } = makeGraph();
  const gpu = await findDevice();
  const sampler =
    gpu === null
      ? new NeighborSampler(graph, { fanouts, seed: 1 })
      : new GPUSampler(gpu, graph, { sizes: fanouts, seed: 1 });
  say(
    gpu === null ? 'Sampling on the CPU.' : `Sampling on ${gpu.info.description || gpu.info.architecture}.`,
  );

  const model = new GraphSAGE([numFeatures, 32, numClasses]);
  const optimizer = new Adam(model.parameters(), { lr: 0.01 });
  const isTraining = (v: number): boolean => v % 8 < numClasses;
  const nodes = Int32Array.from(labels.keys());
  const seeds = nodes.filter(isTraining);
  const forward = ({ blocks, nodeIds }: Batch): Tensor =>
    model.forward(blocks, gatherRows(features, nodeIds));

  for (let epoch = 1; epoch <= 20; epoch++) {
    let total = 0;
    for (let start = 0; start < seeds.length; start += 100) {
      const own = seeds.subarray(start, start + 100);
      const batch = await sampler.sampleAsync(own, { epoch, step: start });
      total += scope(() => {
        optimizer.zeroGrad();
        const loss = crossEntropy(
          forward(batch),
          own.map((v) => labels[v]),
        );
        loss.backward();
        optimizer.step();
        return loss.item() * own.length;
      });
    }
    if (epoch % 5 === 0) say(`epoch ${epoch}: loss ${(total / seeds.length).toFixed(4)}`);
  }

  const guesses = noGrad(() => model.forward(graph, features))
    .argmax()
    .dataSync();
  const unseen = nodes.filter((v) => !isTraining(v));
  const right = unseen.filter((v) => guesses[v] === labels[v]).length;
  say(`accuracy on ${unseen.length} nodes not seen: ${((100 * right) / unseen.length).toFixed(1)} %`);
  if (sampler instanceof GPUSampler) sampler.release();
  gpu?.destroy();
}

main().catch((error) => say(String(error)));
