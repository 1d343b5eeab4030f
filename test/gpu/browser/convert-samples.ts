/** TensorFlow.js in the same page, on the same device: memory passes to it and back without leaving the device. */
import { adoptGpuDevice } from 'skein/gpu';
import { fromTfjs, liveViews, TensorView, toTfjs } from 'skein/interop';
import type { GpuDeviceLike } from '#internal/interop/gpu-like.js';
import { equal } from '../cases/assert.js';
import type { GpuCase } from '../cases/case.js';

async function sharesDevice(): Promise<void> {
  // Imported here, because outside a browser these modules look for a device when they load.
  const tf = await import('@tensorflow/tfjs-core');
  await import('@tensorflow/tfjs-backend-webgpu');
  await tf.setBackend('webgpu');
  const { device } = tf.backend() as unknown as { device: GpuDeviceLike };
  const gpu = adoptGpuDevice(device);
  const before = { tensors: tf.memory().numTensors, views: liveViews().webgpu };
  for (let round = 0; round < 20; round++) {
    const view = TensorView.fromTyped(new Float32Array([1, 2, 3, round]), [2, 2]).toGpu(device);
    const given = toTfjs(tf, view);
    const product = tf.matMul(
      given as InstanceType<typeof tf.Tensor>,
      given as InstanceType<typeof tf.Tensor>,
    );
    const back = fromTfjs(tf, product);
    equal(
      await back.read(),
      [7, 2 + 2 * round, 3 + 3 * round, 6 + round * round],
      `product of round ${round}`,
    );
    back.release();
    product.dispose();
    given.dispose();
    view.release();
  }
  equal(tf.memory().numTensors, before.tensors, 'tensors of TensorFlow.js');
  equal(liveViews().webgpu, before.views, 'views');
  equal(gpu.stats().liveBuffers, 0, 'buffers of the device');
}

export const convertSampleCases: readonly GpuCase[] = [
  { group: 'browser', name: 'shares memory with TensorFlow.js and gets it back', run: sharesDevice },
];
