/** Whole training steps: memory stays flat, results repeat bit for bit, wrong steps are refused. */
import { Adam, clipGradNorm, crossEntropy, Embedding, GRUCell, MLP, MultiheadAttention } from 'skein/nn';
import { manualSeed, poolStats, randn, scope, type Tensor, zeros } from 'skein/tensor';
import { describe, expect, test } from 'vitest';

const labels = Array.from({ length: 30 }, (_, i) => i % 4);
const ids = Array.from({ length: 30 }, (_, i) => (i * 7) % 12);

/** A small model with every kind of part; returns a function that makes one step and gives the loss. */
function makeTrainer(): () => number {
  const table = new Embedding(12, 16, { sparse: true });
  const attention = new MultiheadAttention(16, 4, { dropout: 0.1 });
  const cell = new GRUCell(16, 16);
  const head = new MLP([16, 24, 4], { norm: 'batch', dropout: 0.2 });
  const parts = [table, attention, cell, head];
  const optimizer = new Adam(
    parts.flatMap((part) => part.parameters()),
    { lr: 0.01 },
  );
  return () => {
    optimizer.zeroGrad();
    return scope(() => {
      const x = table.forward(ids);
      const seen = x.reshape([3, 10, 16]);
      const mixed = attention.forward(seen, seen, seen).output.reshape([30, 16]);
      const loss = crossEntropy(head.forward(cell.forward(x, mixed)), labels);
      loss.backward();
      clipGradNorm(optimizer.groups[0].params, 1);
      optimizer.step();
      return loss.item();
    });
  };
}

describe('wrong input', () => {
  test('a result that left its scope throws an error that names it', () => {
    const head = new MLP([4, 2]);
    let leaked = null as Tensor | null;
    scope(() => {
      leaked = head.forward(randn([3, 4]));
    });
    expect(() => leaked?.sum()).toThrow(
      'tensor: expected a live tensor, got one of shape [3, 2] that was disposed.',
    );
  });

  test('backward twice', () => {
    const loss = new MLP([4, 2]).forward(zeros([3, 4])).sum();
    loss.backward();
    expect(() => loss.backward()).toThrow('{ retainGraph: true }');
  });
});

test('steps take no new memory once the pool is warm, and the loss falls', () => {
  manualSeed(1);
  const step = makeTrainer();
  const first = step();
  for (let t = 0; t < 3; t++) step();
  const { allocations } = poolStats();
  let last = first;
  for (let t = 0; t < 40; t++) last = step();
  expect(poolStats().allocations).toBe(allocations);
  expect(last).toBeLessThan(first * 0.8);
});

test('one seed, one result', () => {
  const run = (): number[] => {
    manualSeed(5);
    const step = makeTrainer();
    return Array.from({ length: 5 }, step);
  };
  expect(run()).toEqual(run());
});
