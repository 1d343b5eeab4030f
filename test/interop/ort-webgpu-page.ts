/** Runs in a page: a layer of Skein in ONNX Runtime on a GPU, fed from and read into buffers of its device. */
import * as ort from 'onnxruntime-web/webgpu';
import { exportOnnx, fromOrt, liveViews, TensorView, toOrt } from 'skein/interop';
import { Linear } from 'skein/nn';
import { fromArray, manualSeed, noGrad } from 'skein/tensor';
import type { GpuDeviceLike } from '#internal/interop/gpu-like.js';

interface Outcome {
  readonly location: string;
  readonly sameBuffer: boolean;
  readonly got: number[];
  readonly expected: number[];
  readonly alive: number;
}

async function run(): Promise<Outcome> {
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = { wasm: '/ort.wasm' };
  manualSeed(4);
  const layer = new Linear(4, 3);
  const rows = fromArray([
    [1, 2, 3, 4],
    [5, 6, 7, 8],
  ]);
  const session = await ort.InferenceSession.create(exportOnnx(layer), {
    executionProviders: ['webgpu'],
    preferredOutputLocation: 'gpu-buffer',
  });
  const gpuDevice = (await ort.env.webgpu.device) as unknown as GpuDeviceLike;
  const view = TensorView.fromTyped(rows.dataSync<Float32Array>(), rows.shape).toGpu(gpuDevice);
  const input = toOrt(ort, view, { gpuDevice, release: true });
  const output = (await session.run({ [session.inputNames[0]]: input }))[session.outputNames[0]];
  const result = fromOrt(output, { gpuDevice, dispose: true });
  const got = [...((await result.read()) as Float32Array)];
  const sameBuffer = (input.gpuBuffer as unknown) === view.data;
  const { location } = output;
  result.release();
  input.dispose();
  const expected = [...noGrad(() => layer.forward(rows)).dataSync<Float32Array>()];
  return { location, sameBuffer, got, expected, alive: liveViews().webgpu };
}

Object.assign(globalThis, { runOrt: run });
