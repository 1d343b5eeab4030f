/** Rows of a feature table as tensors: on the table's device, without a copy through the host. */
import { CGPUFeature, enableWebGpu } from 'skein/gpu';
import { DeviceError, DTypeError, StateError } from 'skein/util';
import { expect, it } from 'vitest';
import { deviceOpener } from './devices.js';

const open = deviceOpener();
const data = Float32Array.from({ length: 12 }, (_, i) => i / 4);
const ids = [3, 0, 3];
const wanted = [...ids].flatMap((id) => [...data.subarray(3 * id, 3 * id + 3)]);

it('rows become tensors on their device, and outlive the block', async () => {
  const gpu = await open();
  const tensors = await enableWebGpu(gpu);
  const feature = await new CGPUFeature(null, gpu, '1K').fromCpuTensor({ data, shape: [4, 3] });
  const { readBacks } = gpu.stats();
  const block = await feature.get(ids);
  const x = block.toTensor(tensors);
  block.release();
  expect(gpu.stats().readBacks).toBe(readBacks);
  expect(x.shape).toEqual([3, 3]);
  expect([...(await x.mul(2).data())]).toEqual(wanted.map((value) => 2 * value));
  expect(() => block.toTensor(tensors)).toThrow(StateError);
  tensors.release();
});

it('rows on the host become tensors there, or are copied to a device', async () => {
  const feature = await new CGPUFeature(null, null).fromCpuTensor({ data, shape: [4, 3] });
  const block = await feature.get(ids);
  expect([...block.toTensor().dataSync()]).toEqual(wanted);
  const tensors = await enableWebGpu(await open());
  expect([...(await block.toTensor(tensors).data())]).toEqual(wanted);
  tensors.release();
});

it('rejects another device, and element types that device tensors do not support', async () => {
  const [first, second] = [await open(), await open()];
  const tensors = await enableWebGpu(second);
  const feature = await new CGPUFeature(null, first, '1K').fromCpuTensor({ data, shape: [4, 3] });
  const block = await feature.get(ids);
  expect(() => block.toTensor(tensors)).toThrow(DeviceError);
  expect(() => block.toTensor()).toThrow(/enableWebGpu/);
  const bytes = await new CGPUFeature(null, second, '1K').fromCpuTensor({
    data: new Uint8Array(8),
    shape: [2, 4],
  });
  const flags = await bytes.get([1]);
  expect(() => flags.toTensor(tensors)).toThrow(DTypeError);
  tensors.release();
});
