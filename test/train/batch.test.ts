/** Batch: what it starts with, what each step of its life leaves in it, and that `clear` forgets all of it. */
import { Batch } from 'skein/marius';
import { mul, sum } from 'skein/tensor';
import { DeviceError, ValueError } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { findNodes } from '#internal/train/tasks/graph/batch/training-batch.js';

/** Two edges 7 → 3 and 3 → 9, with two chunks of two negatives each. */
function edges(train = true): Batch {
  const batch = new Batch(train);
  batch.src = Int32Array.of(7, 3);
  batch.dst = Int32Array.of(3, 9);
  batch.srcNegatives = { ids: Int32Array.of(5, 7, 9, 5), chunks: 2 };
  batch.dstNegatives = { ids: Int32Array.of(1, 1, 3, 0), chunks: 2 };
  batch.localSample();
  return batch;
}

const data = (batch: Batch) =>
  Object.entries(batch).filter(
    ([key, value]) =>
      value !== null && value !== false && !['train', 'deviceId', 'status', 'at'].includes(key),
  );

describe('defaults', () => {
  test.each([true, false])('a new batch (train %s) has no data', (train) => {
    const batch = new Batch(train);
    expect(batch).toMatchObject({ train, deviceId: -1, status: 'Waiting', at: { epoch: 0, step: 0 } });
    expect(data(batch)).toEqual([
      ['startIndex', 0],
      ['batchSize', 0],
    ]);
  });
});

describe('localSample', () => {
  test('lists every node once, in order of appearance, and finds its row', () => {
    const batch = edges();
    expect([...(batch.uniqueNodeIndices ?? [])]).toEqual([7, 3, 9, 5, 1, 0]);
    expect([...(batch.srcRows ?? [])]).toEqual([0, 1]);
    expect([...(batch.dstRows ?? [])]).toEqual([1, 2]);
    expect([...(batch.srcNegativeRows ?? [])]).toEqual([3, 0, 2, 3]);
    expect([...(batch.dstNegativeRows ?? [])]).toEqual([4, 4, 1, 5]);
    expect(batch.status).toBe('AccumulatedIndices');
  });

  test('leaves the map as it was', () => {
    const map = new Int32Array(10).fill(-1);
    const batch = new Batch(true);
    batch.rootNodes = Int32Array.of(4, 4, 2);
    expect([...(findNodes(batch, map).uniqueNodeIndices ?? [])]).toEqual([4, 2]);
    expect(map.every((x) => x === -1)).toBe(true);
  });
});

describe('life cycle', () => {
  test('each step changes the status', async () => {
    const batch = edges();
    const rows = new Float32Array(6 * 3).map((_, i) => i);
    batch.setEmbeddings(rows, 3);
    expect([batch.status, batch.uniqueNodeEmbeddings?.shape]).toEqual(['LoadedEmbeddings', [6, 3]]);
    expect(batch.uniqueNodeEmbeddings?.requiresGrad).toBe(true);
    batch.setFeatures(new Float32Array(12), 2);
    expect(batch.uniqueNodeFeatures?.shape).toEqual([6, 2]);
    expect(batch.uniqueNodeFeatures?.requiresGrad).toBe(false);
    batch.embeddingsToDevice();
    expect(batch.status).toBe('TransferredToDevice');
    batch.prepareBatch();
    expect(batch.status).toBe('PreparedForCompute');
    expect([...(batch.srcPosEmbeddings?.dataSync() ?? [])]).toEqual([0, 1, 2, 3, 4, 5]);
    expect([...(batch.dstPosEmbeddings?.dataSync() ?? [])]).toEqual([3, 4, 5, 6, 7, 8]);
    expect(batch.srcNegEmbeddings?.shape).toEqual([2, 2, 3]);
    expect([...(batch.dstNegEmbeddings?.dataSync() ?? [])].slice(6)).toEqual([3, 4, 5, 15, 16, 17]);
    batch.accumulateGradients();
    expect(batch.status).toBe('AccumulatedGradients');
    await batch.embeddingsToHost();
    expect(batch.status).toBe('TransferredToHost');
    batch.clear();
    expect(batch.status).toBe('Done');
  });

  test('only training differentiates by the embeddings', () => {
    const batch = edges(false);
    batch.setEmbeddings(new Float32Array(6), 1);
    expect(batch.uniqueNodeEmbeddings?.requiresGrad).toBe(false);
  });

  test('a device that is not there is refused', () => {
    expect(() => new Batch(true).embeddingsToDevice(3)).toThrow(ValueError);
    expect(() => new Batch(true).embeddingsToDevice(0)).toThrow(DeviceError);
    expect(() => new Batch(true).embeddingsToDevice('webgpu')).toThrow(/enableWebGpu/);
  });

  test('prepareBatch needs rows', () => {
    expect(() => edges().prepareBatch()).toThrow(/Encode the batch first/);
  });

  test('prepareBatch takes encoded nodes when there are', () => {
    const batch = edges();
    batch.setEmbeddings(new Float32Array(6).fill(2), 1);
    batch.encodedUniques = mul(batch.uniqueNodeEmbeddings as never, 3);
    batch.prepareBatch();
    expect([...(batch.srcPosEmbeddings?.dataSync() ?? [])]).toEqual([6, 6]);
  });
});

describe('accumulateGradients', () => {
  test('gives g² for the state and −lr·g/(√g² + 1e-10) for the rows', () => {
    const batch = edges();
    batch.setEmbeddings(Float32Array.of(1, -2, 0.5, 0, 3, -1), 1);
    const rows = batch.uniqueNodeEmbeddings as NonNullable<typeof batch.uniqueNodeEmbeddings>;
    sum(mul(rows, rows)).backward();
    batch.accumulateGradients(0.1);
    const gradient = [2, -4, 1, 0, 6, -2];
    expect([...(batch.uniqueNodeGradients ?? [])]).toEqual(gradient);
    expect([...(batch.uniqueNodeStateUpdates ?? [])]).toEqual(gradient.map((g) => g * g));
    const updates = gradient.map((g) => Math.fround((-0.1 * g) / (Math.sqrt(g * g) + 1e-10)));
    expect([...(batch.uniqueNodeUpdates ?? [])].map((x) => x + 0)).toEqual(updates.map((x) => x + 0));
  });

  test('continues from a given optimiser state', () => {
    const batch = edges();
    batch.setEmbeddings(new Float32Array(6).fill(1), 1);
    sum(batch.uniqueNodeEmbeddings as never).backward();
    batch.accumulateGradients(0.5, new Float32Array(6).fill(3));
    expect([...(batch.uniqueNodeUpdates ?? [])]).toEqual(new Array(6).fill(Math.fround(-0.25)));
  });

  test('without a gradient the updates are zero', () => {
    const batch = edges();
    batch.setEmbeddings(new Float32Array(6).fill(1), 1);
    batch.accumulateGradients(0.1);
    expect(batch.uniqueNodeUpdates?.every((x) => Math.abs(x) === 0)).toBe(true);
  });

  test('without embeddings nothing happens', () => {
    const batch = new Batch(true);
    batch.accumulateGradients(0.1);
    expect([batch.uniqueNodeGradients, batch.status]).toEqual([null, 'Waiting']);
  });
});

describe('clear', () => {
  test('forgets everything but where the batch was', () => {
    const batch = edges();
    batch.at = { epoch: 3, step: 4 };
    batch.setEmbeddings(new Float32Array(6), 1);
    batch.setFeatures(new Float32Array(6), 1);
    batch.prepareBatch();
    batch.accumulateGradients(0.1);
    batch.clear();
    expect(data(batch)).toEqual([
      ['startIndex', 0],
      ['batchSize', 0],
    ]);
    expect(batch).toMatchObject({ train: true, status: 'Done', at: { epoch: 3, step: 4 } });
  });
});
