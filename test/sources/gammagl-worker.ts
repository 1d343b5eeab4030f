/** One rank of the Multi-GPU program in gammagl-gpu.test.ts: a thread with a device of its own. */
import { parentPort, workerData } from 'node:worker_threads';
import {
  GradientAverage,
  gpuDevice,
  MultiCGPUFeature,
  MultiGPUSampler,
  type SharedFeature,
  type SharedSampler,
} from 'skein/gpu';
import { fromTypedArray } from 'skein/tensor';
import { accuracy, data, newModel, trainLoader, trainOneStep } from './gammagl-data.js';

export interface RankTask {
  readonly rank: number;
  readonly sampler: SharedSampler;
  readonly feature: SharedFeature;
  readonly gradients: SharedArrayBuffer;
}

export interface RankResult {
  readonly rank: number;
  readonly losses: readonly number[];
  readonly accuracy: number;
  readonly parameters: readonly number[];
}

// def train(ml_sp, feat):
async function train(
  { rank, gradients }: RankTask,
  mlSp: MultiGPUSampler,
  feat: MultiCGPUFeature,
): Promise<RankResult> {
  mlSp.setSize([25, 10]); //                            ml_sp.set_size([25, 10])
  const trained = newModel(); //                        model = ...
  const { model } = trained;
  // dist.init_parallel_env()
  const average = new GradientAverage(gradients, { rank, parameters: model.parameters() });
  const losses: number[] = [];
  for (let i = 1; i < 9; i++) {
    // for seed in train_loader: seed = tlx.reshape(seed, (-1,))
    for (const batch of trainLoader) {
      const seed = batch.filter((_, k) => k % 2 === rank);
      // dst_node, cadjs = ml_sp.sample(seed, dist.get_rank())
      const { allNode, batch: cadjs } = await mlSp.sample(seed, rank);
      const rows = await feat.get(allNode); //          cur_feat = feat[dst_node]
      const curFeat = fromTypedArray((await rows.toHost()) as Float32Array, rows.shape);
      rows.release();
      // data = {"x": cur_feat, "y": y, "dst_node": all_node[:seed.shape[0]], "subgs": adjs}
      const step = {
        x: curFeat,
        y: data.y,
        dstNode: allNode.subarray(0, seed.length),
        subgs: cadjs.blocks,
      };
      // train_loss = train_one_step(data, tlx.convert_to_tensor([0]))
      losses.push(await trainOneStep(trained, step, () => average.step(seed.length)));
    }
  }
  const parameters = model.parameters().flatMap((p) => [...p.dataSync()]);
  return { rank, losses, accuracy: accuracy(trained), parameters };
}

if (parentPort !== null) {
  const task = workerData as RankTask;
  const mlSp = MultiGPUSampler.fromShared(task.sampler, task.rank);
  const feat = await MultiCGPUFeature.fromShared(task.feature, task.rank, [task.rank]);
  const result = await train(task, mlSp, feat);
  mlSp.release();
  feat.release();
  (await gpuDevice(task.rank)).destroy();
  parentPort.postMessage(result);
}
