import { SharedMailBox } from 'skein/temporal';
import { fromTypedArray, type Tensor } from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import { SyncFilter } from '#internal/temporal/mailbox/sync-filter.js';

const ints = (...values: number[]) => Int32Array.from(values);
const rows = (...values: number[][]): Tensor =>
  fromTypedArray(Float32Array.from(values.flat()), [values.length, 2]);
const filterOf = (options: { minDistance?: number; maxSkip?: number } = {}) =>
  new SyncFilter({ numNodes: 6, sharedNodes: [4, 1], width: 2, ...options });

describe('check 15: filter of shared nodes', () => {
  it('check 15: a node that was never sent is sent, an unchanged one is not, one that turned is', () => {
    const filter = filterOf();
    expect([...filter.select(ints(0, 1, 4), rows([9, 9], [1, 0], [0, 2]))]).toEqual([1, 2]);
    expect([...filter.select(ints(4, 1), rows([0, 2], [1, 0]))]).toEqual([]);
    // 45 degrees are 0.293, not above 0.3; 90 degrees are.
    expect([...filter.select(ints(4, 1), rows([2, 2], [0, 1]))]).toEqual([1]);
    expect([...filter.waiting()]).toEqual([4]);
    expect(filter.counts).toEqual({ sent: 3, skipped: 3, forced: 0 });
  });

  it('check 15: a zero vector stays unsent while it is zero, and an unchanged one at distance 0 too', () => {
    const filter = filterOf({ minDistance: 0 });
    expect([...filter.select(ints(1), rows([0, 0]))]).toEqual([]);
    expect([...filter.select(ints(1), rows([0.1, 0.7]))]).toEqual([0]);
    expect([...filter.select(ints(1), rows([0.1, 0.7]))]).toEqual([]);
  });

  it('check 15: after max_skip skips the next change is sent, and counting starts again', () => {
    const filter = filterOf({ maxSkip: 3 });
    const sent = Array.from({ length: 10 }, () => filter.select(ints(1), rows([1, 0])).length);
    expect(sent).toEqual([1, 0, 0, 0, 1, 0, 0, 0, 1, 0]);
    expect(filter.counts).toEqual({ sent: 3, skipped: 7, forced: 2 });
    const always = filterOf({ maxSkip: 0 });
    expect(Array.from({ length: 3 }, () => always.select(ints(1), rows([1, 0])).length)).toEqual([1, 1, 1]);
  });

  it('check 15: replicas equal the owner after a drain', () => {
    const make = () => new SharedMailBox({ numNodes: 6, memoryParam: { type: 'node', dim_out: 2 } });
    const owner = make();
    const replica = make();
    const filter = filterOf({ maxSkip: 2 });
    for (let step = 0; step < 8; step++) {
      const memory = rows([Math.cos(step / 3), Math.sin(step / 3)], [1, step / 50], [step, step]);
      const times = new Float64Array(3).fill(step);
      owner.setMemoryLocal(ints(1, 4, 3), memory, times, ints(step, step, step));
      const chosen = filter.select(ints(1, 4, 3), memory);
      const nodes = chosen.map((row) => [1, 4, 3][row]);
      const { memory: values, memoryTime } = owner.read(nodes);
      replica.setMemoryLocal(nodes, values, memoryTime, new Int32Array(nodes.length).fill(step));
    }
    const shared = Int32Array.of(4, 1);
    const same = () =>
      [...owner.read(shared).memory.dataSync()].join() === [...replica.read(shared).memory.dataSync()].join();
    expect(same()).toBe(false);
    const nodes = filter.waiting();
    const state = owner.read(nodes);
    replica.setMemoryLocal(nodes, state.memory, state.memoryTime);
    filter.markSent(nodes, state.memory);
    expect(same()).toBe(true);
    expect([...replica.read(shared).memoryTime]).toEqual([...owner.read(shared).memoryTime]);
    expect([...filter.waiting()]).toEqual([]);
    expect([...replica.read(ints(3)).memory.dataSync()]).toEqual([0, 0]);
  });

  it('continues from a snapshot, and starts again after reset', () => {
    const filter = filterOf({ maxSkip: 3 });
    for (let i = 0; i < 3; i++) filter.select(ints(1), rows([1, 0]));
    const other = filterOf({ maxSkip: 3 });
    other.restore(filter.snapshot());
    for (let i = 0; i < 3; i++) {
      expect([...other.select(ints(1), rows([1, 0]))]).toEqual([...filter.select(ints(1), rows([1, 0]))]);
    }
    expect(other.counts).toEqual(filter.counts);
    other.reset();
    expect(other.snapshot()).toEqual(filterOf().snapshot());
    expect(() => other.restore({ ...filter.snapshot(), skips: ints(1) })).toThrow(/shared nodes/);
  });

  it('refuses wrong input', () => {
    expect(() => filterOf({ minDistance: 3 })).toThrow(/minDistance/);
    expect(() => new SyncFilter({ numNodes: 2, sharedNodes: [1, 1], width: 2 })).toThrow(/different nodes/);
    expect(() => filterOf().select(ints(1, 1), rows([1, 0], [0, 1]))).toThrow(/every node once/);
    expect(() => filterOf().select(ints(1), rows([1, 0], [0, 1]))).toThrow(/f32 \[1, 2\]/);
    expect(() => filterOf().select(ints(6), rows([1, 0]))).toThrow(/ids/);
  });
});
