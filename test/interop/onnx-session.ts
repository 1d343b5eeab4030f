/** Runs exported models in onnxruntime-web, on its WebAssembly engine and one thread. */
import * as ort from 'onnxruntime-web';
import type { Graph, Tensor } from 'skein';

ort.env.wasm.numThreads = 1;

export type Feeds = Readonly<Record<string, ort.Tensor>>;

export function floats(data: ArrayLike<number>, dims: readonly number[]): ort.Tensor {
  return new ort.Tensor('float32', Float32Array.from(data), [...dims]);
}

export function ids(data: ArrayLike<number>, dims: readonly number[]): ort.Tensor {
  return new ort.Tensor('int64', BigInt64Array.from(Array.from(data), BigInt), [...dims]);
}

export function fromTensor(t: Tensor): ort.Tensor {
  return floats(t.dataSync() as ArrayLike<number>, t.shape);
}

/** [2, E] of a graph, in the order of edge ids. */
export function edgeIndex(graph: Graph): ort.Tensor {
  const { src, dst } = graph.edges();
  return ids([...src, ...dst], [2, src.length]);
}

/** Outputs of a model by name. */
export async function runOnnx(
  bytes: Uint8Array,
  feeds: Feeds,
): Promise<Readonly<Record<string, { readonly data: Float32Array; readonly dims: readonly number[] }>>> {
  const session = await ort.InferenceSession.create(bytes, {
    executionProviders: ['wasm'],
    logSeverityLevel: 4,
  });
  try {
    const results = await session.run(feeds, { logSeverityLevel: 4 });
    return Object.fromEntries(
      Object.entries(results).map(([name, t]) => [name, { data: t.data as Float32Array, dims: t.dims }]),
    );
  } finally {
    await session.release();
  }
}

/** The largest difference of two lists of numbers; NaN and other lengths differ without bound. */
export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Infinity;
  let most = 0;
  for (let i = 0; i < a.length; i++) {
    const difference = Math.abs(a[i] - b[i]);
    if (!(difference <= most)) most = Number.isNaN(difference) ? Infinity : difference;
  }
  return most;
}
