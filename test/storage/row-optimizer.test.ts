/** Sparse-row optimisers over a partition buffer: PyTorch's formulas, rows left alone, half precision, resuming. */
import { Adagrad, Adam, SGD } from 'skein/nn';
import {
  PartitionBuffer,
  PartitionLayout,
  type RowOptimizer,
  rowAdagrad,
  rowAdam,
  rowSGD,
} from 'skein/storage';
import { fromArray } from 'skein/tensor';
import { describe, expect, test } from 'vitest';
import { rowSumAdagrad } from '#internal/storage/built-in-row-optimizers.js';
import { TableFiles } from '#internal/storage/table-files.js';
import { countingInit, scratchFolder } from './tables.js';

const folder = scratchFolder();

async function tableFor(optimizer: RowOptimizer, capacity: number, dtype: 'f32' | 'f16' | 'bf16' = 'f32') {
  const files = await TableFiles.create(await folder(), {
    layout: new PartitionLayout(12, 4),
    columns: optimizer.columns('x', 2, dtype),
    init: (piece) => (piece.column.name === 'x' ? countingInit(piece) : optimizer.init(piece)),
  });
  const buffer = new PartitionBuffer(files, capacity);
  await buffer.load();
  return buffer;
}

const makers: [string, () => RowOptimizer][] = [
  ['sgd', () => rowSGD({ learningRate: 0.3, weightDecay: 0.01 })],
  ['sgd with momentum', () => rowSGD({ learningRate: 0.3, momentum: 0.9 })],
  ['adagrad', () => rowAdagrad({ learningRate: 0.3, initialValue: 0.5 })],
  ['adagrad with one sum per row', () => rowSumAdagrad({ learningRate: 0.3, weightDecay: 0.1 })],
  ['adam', () => rowAdam({ learningRate: 0.3 })],
];

const gradientAt = (t: number, n: number): Float32Array =>
  Float32Array.from({ length: n * 2 }, (_, i) => Math.sin(7 * t + i) + 0.1);

describe('all rows at once', () => {
  test.each([
    ['sgd', rowSGD({ learningRate: 0.3 }), (p: never) => new SGD(p, { lr: 0.3 })],
    ['adagrad', rowAdagrad({ learningRate: 0.3 }), (p: never) => new Adagrad(p, { lr: 0.3 })],
    ['adam', rowAdam({ learningRate: 0.3 }), (p: never) => new Adam(p, { lr: 0.3 })],
  ])('%s takes the steps of the dense optimiser, bit for bit', async (_, rows, dense) => {
    const buffer = await tableFor(rows, 4);
    const ids = Int32Array.from({ length: 12 }, (_, i) => i);
    const start = buffer.indexRead(ids);
    const parameter = fromArray([...start], { requiresGrad: true });
    const optimizer = dense([parameter] as never);
    for (let t = 0; t < 4; t++) {
      const gradient = gradientAt(t, 12);
      rows.step(buffer, ids, gradient);
      optimizer.zeroGrad();
      parameter
        .mul(fromArray([...gradient]))
        .sum()
        .backward();
      optimizer.step();
    }
    expect([...buffer.indexRead(ids)]).toEqual(parameter.toArray());
    await buffer.unload(false);
  });
});

describe.each(makers)('%s', (_, make) => {
  test('touches the named rows only, through swaps as in memory', async () => {
    const small = make();
    const large = make();
    const buffered = await tableFor(small, 2);
    const inMemory = await tableFor(large, 4);
    buffered.setOrdering([
      [0, 1],
      [0, 2],
      [3, 2],
      [3, 1],
      [0, 1],
    ]);
    await buffered.load();
    for (let t = 0; ; t++) {
      const local = Int32Array.of(t % 3, 5 - (t % 2));
      const gradient = gradientAt(t, 2);
      small.step(buffered, local, gradient);
      large.step(inMemory, buffered.toGlobal(local), gradient);
      if (!buffered.hasSwap()) break;
      await buffered.performNextSwap();
    }
    const all = Int32Array.from({ length: 12 }, (_, i) => i);
    buffered.setOrdering([[0, 1]]);
    await buffered.unload();
    const whole = new PartitionBuffer(buffered.files, 4);
    await whole.load();
    for (const { name } of whole.columns) {
      expect(whole.indexRead(all, name)).toEqual(inMemory.indexRead(all, name));
    }
    expect(small.state()).toEqual(large.state());
    await whole.unload(false);
    await inMemory.unload(false);
  });

  test('on other threads: the same bits', async () => {
    const [here, there] = [make(), make()];
    const buffers = [await tableFor(here, 4), await tableFor(there, 4)];
    const ids = Int32Array.of(3, 0, 10);
    for (let t = 0; t < 3; t++) {
      here.step(buffers[0], ids, gradientAt(t, 3));
      await there.stepAsync(buffers[1], ids, gradientAt(t, 3));
    }
    const [one, two] = buffers.map((buffer) => buffer.indexRead(ids));
    expect(two).toEqual(one);
    await expect(there.stepAsync(buffers[1], Int32Array.of(12), new Float32Array(2))).rejects.toThrow(
      '0 to 11',
    );
    for (const buffer of buffers) await buffer.unload();
    expect(buffers[1].files.manifest().writable).toEqual(buffers[0].files.manifest().writable);
  });

  test('resumes from its state', async () => {
    const one = make();
    const two = make();
    const first = await tableFor(one, 4);
    const ids = Int32Array.of(0, 7);
    one.step(first, ids, gradientAt(0, 2));
    const manifest = await first.checkpoint();
    const saved = JSON.parse(JSON.stringify(one.state()));
    one.step(first, ids, gradientAt(1, 2));
    const again = new PartitionBuffer(await TableFiles.open(first.files.folder, manifest), 4);
    await again.load();
    two.restore(saved);
    two.step(again, ids, gradientAt(1, 2));
    expect(again.indexRead(ids)).toEqual(first.indexRead(ids));
    await again.unload(false);
    await first.unload(false);
  });

  test.each(['f16', 'bf16'] as const)(
    'a %s table computes in f32 and rounds the values once',
    async (dtype) => {
      const half = make();
      const full = make();
      const narrow = await tableFor(half, 4, dtype);
      const wide = await tableFor(full, 4);
      const ids = Int32Array.of(1, 4, 11);
      wide.indexPut(ids, narrow.indexRead(ids));
      half.step(narrow, ids, gradientAt(0, 3));
      full.step(wide, ids, gradientAt(0, 3));
      const exact = wide.indexRead(ids);
      // Rounding the f32 result is what the table must hold.
      const check = await tableFor(make(), 4, dtype);
      check.indexPut(ids, exact);
      expect(narrow.indexRead(ids)).toEqual(check.indexRead(ids));
      for (let s = 1; s <= half.stateColumns; s++) {
        expect(narrow.indexRead(ids, s)).toEqual(wide.indexRead(ids, s));
      }
      for (const buffer of [narrow, wide, check]) await buffer.unload(false);
    },
  );
});

test('Adagrad: the learning rate decays with the steps of the table', async () => {
  const optimizer = rowAdagrad({ learningRate: 1, learningRateDecay: 1, eps: 0 });
  const buffer = await tableFor(optimizer, 4);
  const ids = Int32Array.of(0);
  optimizer.step(buffer, ids, Float32Array.of(1, 0));
  expect(buffer.indexRead(ids)[0]).toBe(-1);
  optimizer.step(buffer, ids, Float32Array.of(1, 0));
  expect(buffer.indexRead(ids)[0]).toBeCloseTo(-1 - 0.5 / Math.sqrt(2), 6);
  await buffer.unload(false);
});

test('Adagrad with one sum per row: its rate is that of the mean square of the row', async () => {
  const optimizer = rowSumAdagrad({ learningRate: 1, eps: 0, initialValue: 4 });
  const buffer = await tableFor(optimizer, 4);
  expect(buffer.columns.map(({ name, width }) => [name, width])).toEqual([
    ['x', 2],
    ['x.sum', 1],
  ]);
  const ids = Int32Array.of(5, 2);
  const before = buffer.indexRead(ids);
  optimizer.step(buffer, ids, Float32Array.of(3, 4, 0, 0));
  const rate = 1 / Math.sqrt(4 + (9 + 16) / 2);
  const want = [before[0] - 3 * rate, before[1] - 4 * rate, before[2], before[3]];
  for (const [i, value] of buffer.indexRead(ids).entries()) expect(value).toBeCloseTo(want[i], 5);
  expect([...buffer.indexRead(ids, 'x.sum')]).toEqual([16.5, 4]);
  await buffer.unload(false);
});

test('wrong use is refused', async () => {
  const optimizer = rowAdam();
  const buffer = await tableFor(optimizer, 2);
  expect(() => optimizer.step(buffer, Int32Array.of(0), new Float32Array(3))).toThrow('1 rows of 2 elements');
  expect(() => optimizer.step(buffer, Int32Array.of(6), new Float32Array(2))).toThrow('from 0 to 5');
  expect(() => rowAdagrad().step(buffer, Int32Array.of(0), new Float32Array(2))).toThrow(
    'for column, got "x.sum"',
  );
  expect(() => rowAdagrad().restore(optimizer.state())).toThrow('expected adagrad for type, got "adam"');
  expect(() => rowSGD({ learningRate: Number.NaN })).toThrow('for learningRate, got NaN');
  expect(() => {
    optimizer.learningRate = -1;
  }).toThrow('learningRate');
  await buffer.unload(false);
});
