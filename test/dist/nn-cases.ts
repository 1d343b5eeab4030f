/**
 * Models on several workers, as one table of cases that all ranks run together (nn-worker.ts under mpirun, nn.test.ts with
 * one worker). The reference is always the same work on the rows of all ranks in one place.
 */
import assert from 'node:assert/strict';
import {
  type Communicator,
  DistributedBatchNorm1d,
  distributedBackward,
  gatherGrads,
  syncParams,
} from 'skein/dist';
import { BatchNorm1d, type BatchNormOptions, Embedding, Linear, MLP, Module, mseLoss, SGD } from 'skein/nn';
import { checkpoint, fromArray, manualSeed, rand, randn, type Tensor, zeros } from 'skein/tensor';
import { Random } from 'skein/util';
import { GradientBuckets } from '#internal/dist/nn/gradient-buckets.js';
import type { CommCase } from './communicator-contract.js';

const dtype = 'f64';

/** Returns equal numbers on every rank; rank q works on rows [starts[q], starts[q + 1]). */
function sharedRows(rows: number, cols: number, seed: number): Tensor {
  return randn([rows, cols], { dtype, random: new Random(seed) });
}

function own(x: Tensor, starts: readonly number[], rank: number): Tensor {
  return x.slice(starts[rank], starts[rank + 1]).clone();
}

/** Rank 0 has no rows when there are several; the others have different numbers of them. */
function unevenStarts(size: number): number[] {
  const starts = [0];
  for (let q = 0; q < size; q++) starts.push(starts[q] + (q === 0 && size > 1 ? 0 : 3 + 4 * q));
  return starts;
}

function close(got: Tensor | null, wanted: Tensor | null, what: string, tolerance = 1e-10): void {
  assert.equal(got === null, wanted === null, `${what}: null on one side`);
  if (got === null || wanted === null) return;
  assert.deepEqual(got.shape, wanted.shape, what);
  const [a, b] = [got.dataSync(), wanted.dataSync()];
  for (let i = 0; i < a.length; i++)
    assert.ok(
      Math.abs(a[i] - b[i]) <= tolerance * Math.max(1, Math.abs(b[i])),
      `${what}[${i}]: ${a[i]} ≠ ${b[i]}`,
    );
}

function sameBitsOnAll(comm: Communicator, model: Module): void {
  for (const [name, p] of model.namedParameters()) {
    if (p.grad === null) continue;
    for (const [rank, other] of comm.allGather(p.grad.dataSync<Float64Array>()).entries())
      assert.deepEqual(other, p.grad.dataSync(), `the gradient of ${name} differs on rank ${rank}`);
  }
}

/** A branch that some ranks do not use, one that no rank uses, sparse rows, and recomputation. */
class Branches extends Module {
  readonly body = new MLP([4, 8, 8, 3], { dtype });
  readonly sometimes = new Linear(4, 3, { dtype });
  readonly never = new Linear(4, 3, { dtype });
  readonly table = new Embedding(20, 3, { dtype, sparse: true });
  readonly again = new Linear(3, 3, { dtype });

  forward(x: Tensor, ids: Int32Array, branch: boolean, repeats: number): Tensor {
    let h = this.body.forward(x);
    if (branch) h = h.add(this.sometimes.forward(x));
    h = h.add(this.table.forward(ids));
    for (let i = 0; i < repeats; i++) h = checkpoint((t) => this.again.forward(t).tanh(), h);
    return h;
  }
}

interface Step {
  readonly model: Branches;
  loss(): Tensor;
}

/** This rank's share of a step, and the step on all rows. `branchOn` decides which ranks use the branch. */
function branchesStep(comm: Communicator, branchOn: (rank: number) => boolean, repeats: number): Step {
  manualSeed(5);
  const model = new Branches();
  const per = 6;
  const x = sharedRows(per * comm.size, 4, 3);
  const starts = Array.from({ length: comm.size + 1 }, (_, q) => q * per);
  const ids = Int32Array.from({ length: per }, (_, i) => (i * 3 + comm.rank) % 20);
  const loss = () =>
    model
      .forward(own(x, starts, comm.rank), ids, branchOn(comm.rank), repeats)
      .square()
      .sum()
      .div(per * comm.size);
  return { model, loss };
}

/** Gradients of the sum of all ranks' losses, computed on this rank only. */
function reference(comm: Communicator, branchOn: (rank: number) => boolean, repeats: number): Branches {
  let total: Branches | null = null;
  for (let rank = 0; rank < comm.size; rank++) {
    const { model, loss } = branchesStep({ ...place(comm), rank } as Communicator, branchOn, repeats);
    if (total !== null)
      for (const [i, p] of model.parameters().entries()) p.grad = total.parameters()[i].grad;
    loss().backward();
    const table = model.table.weight;
    if (total !== null && total.table.weight.sparseGrad !== null && table.sparseGrad !== null)
      table.sparseGrad = total.table.weight.sparseGrad.concat(table.sparseGrad).coalesce();
    total = model;
  }
  return total as Branches;
}

const place = ({ rank, size }: Communicator) => ({ rank, size });

function sameAsReference(comm: Communicator, model: Branches, wanted: Branches): void {
  const references = wanted.namedParameters();
  for (const [name, p] of model.namedParameters()) {
    const other = references.get(name) as Tensor;
    close(p.grad, other.grad, name);
    assert.equal(p.sparseGrad === null, other.sparseGrad === null, `${name}: rows on one side`);
    if (p.sparseGrad === null || other.sparseGrad === null) continue;
    const [got, rows] = [p.sparseGrad.coalesce(), other.sparseGrad.coalesce()];
    assert.deepEqual(got.ids, rows.ids);
    close(fromArray([...got.rows]), fromArray([...rows.rows]), `${name} rows`);
  }
  sameBitsOnAll(comm, model);
}

const some = (rank: number) => rank % 2 === 1;

const gradientCases: CommCase[] = [
  {
    name: 'syncParams: all ranks get the bits of one',
    run(comm) {
      for (let root = 0; root < comm.size; root++) {
        manualSeed(100 + comm.rank);
        const model = new MLP([7, 600, 600, 2]);
        const norm = new BatchNorm1d(7);
        norm.train();
        norm.forward(rand([5, 7]));
        const before = comm.allGather(model.stateDict()['linears.0.weight']?.dataSync() as Float32Array);
        syncParams(model, { comm, root });
        syncParams(norm, { comm, root });
        for (const t of [...Object.values(model.stateDict()), ...Object.values(norm.stateDict())])
          for (const other of comm.allGather(t.dataSync() as Float32Array))
            assert.deepEqual(other, t.dataSync());
        assert.deepEqual(model.stateDict()['linears.0.weight'].dataSync(), before[root]);
      }
    },
  },
  {
    name: 'syncParams: another model is an error on all ranks',
    run(comm) {
      if (comm.size === 1) return;
      const model = new Linear(3, comm.rank === 1 ? 5 : 4);
      assert.throws(
        () => syncParams(model, { comm }),
        /expected the same model on all ranks, got weight f32 5×3 on rank 1 where rank 0 has weight f32 4×3/,
      );
    },
  },
  {
    name: 'gatherGrads: sums, null on some ranks, null on all, sparse rows',
    run(comm) {
      const { model, loss } = branchesStep(comm, some, 2);
      loss().backward();
      gatherGrads(model, { comm });
      sameAsReference(comm, model, reference(comm, some, 2));
      assert.equal(model.never.weight.grad, null);
      assert.equal(model.sometimes.weight.grad === null, comm.size === 1);
    },
  },
  {
    name: 'gatherGrads: dense on some ranks and rows on others',
    run(comm) {
      const model = new Embedding(5, 2, { dtype, sparse: comm.rank % 2 === 0 });
      model.forward(Int32Array.of(1, comm.rank)).sum().backward();
      gatherGrads(model, { comm });
      if (comm.size === 1) return;
      const wanted = Array.from({ length: 5 }, (_, i) => (i === 1 ? comm.size : 0) + (i < comm.size ? 1 : 0));
      assert.deepEqual(
        model.weight.grad?.toArray(),
        wanted.map((v) => [v, v]),
      );
    },
  },
  ...[1, 100, 1 << 20].map((bucketBytes) => ({
    name: `buckets of ${bucketBytes} bytes give the bits of gatherGrads, also when the program changes`,
    run(comm: Communicator) {
      const after = branchesStep(comm, some, 2);
      after.loss().backward();
      gatherGrads(after.model, { comm });
      const { model } = branchesStep(comm, some, 2);
      const buckets = new GradientBuckets(model, { comm, bucketBytes });
      // More and fewer uses than the pass before, and other ranks that use the branch.
      const steps = [
        { on: some, repeats: 2 },
        { on: some, repeats: 2 },
        { on: some, repeats: 4 },
        { on: () => false, repeats: 0 },
        { on: (rank: number) => rank === 0, repeats: 3 },
        { on: some, repeats: 2 },
      ];
      for (const { on, repeats } of steps) {
        const same = branchesStep(comm, on, repeats);
        same.loss().backward();
        gatherGrads(same.model, { comm });
        model.zeroGrad();
        const x = sharedRows(6 * comm.size, 4, 3).slice(comm.rank * 6, comm.rank * 6 + 6);
        const ids = Int32Array.from({ length: 6 }, (_, i) => (i * 3 + comm.rank) % 20);
        const h = model.forward(x.clone(), ids, on(comm.rank), repeats);
        buckets.backward(
          h
            .square()
            .sum()
            .div(6 * comm.size),
        );
        for (const [name, p] of model.namedParameters()) {
          const other = same.model.namedParameters().get(name) as Tensor;
          assert.deepEqual(p.grad?.dataSync(), other.grad?.dataSync(), name);
          assert.deepEqual(p.sparseGrad?.coalesce(), other.sparseGrad?.coalesce(), name);
        }
      }
      if (comm.size > 1) assert.ok(bucketBytes > 1000 || (buckets.buckets?.length ?? 0) > 3);
    },
  })),
  {
    name: 'distributedBackward adds to the gradients of earlier passes, as backward does',
    run(comm) {
      const { model, loss } = branchesStep(comm, some, 1);
      for (let pass = 0; pass < 3; pass++) distributedBackward(loss(), model, { comm });
      const once = branchesStep(comm, some, 1);
      distributedBackward(once.loss(), once.model, { comm });
      for (const [name, p] of model.namedParameters()) {
        const single = once.model.namedParameters().get(name) as Tensor;
        close(p.grad, single.grad?.mul(3) ?? null, name);
        if (p.sparseGrad !== null && single.sparseGrad !== null) {
          const three = single.sparseGrad.coalesce().rows.map((v) => 3 * v);
          close(fromArray([...p.sparseGrad.coalesce().rows]), fromArray([...three]), name);
        }
      }
    },
  },
  {
    name: 'a rank whose loss depends on no parameter takes part',
    run(comm) {
      const model = new Linear(2, 2, { dtype });
      for (let pass = 0; pass < 3; pass++) {
        model.zeroGrad();
        const idle = comm.rank === comm.size - 1 && comm.size > 1;
        const loss = idle ? zeros([]) : model.forward(fromArray([[1, 2]], { dtype })).sum();
        distributedBackward(loss, model, { comm });
        const ranks = Math.max(1, comm.size - 1);
        assert.deepEqual(model.weight.grad?.toArray(), [
          [ranks, 2 * ranks],
          [ranks, 2 * ranks],
        ]);
      }
    },
  },
];

/** Batch norm on this rank's rows and on all rows; values, gradients and running statistics must agree. */
function compareNorms(comm: Communicator, options: BatchNormOptions, offset: number, train: boolean): void {
  const cols = 5;
  const starts = unevenStarts(comm.size);
  const rows = starts[comm.size];
  const local = new DistributedBatchNorm1d(cols, { ...options, dtype, comm });
  const whole = new BatchNorm1d(cols, { ...options, dtype });
  for (const model of [local, whole]) {
    model.weight?.assign(fromArray([1, -2, 0.5, 3, 0.1], { dtype }));
    model.bias?.assign(fromArray([0, 1, 2, -1, 5], { dtype }));
  }
  for (let pass = 0; pass < 3; pass++) {
    if (pass === 2 && !train) for (const model of [local, whole]) model.eval();
    const x = sharedRows(rows, cols, 10 + pass).add(offset);
    const target = sharedRows(rows, cols, 20 + pass);
    const xs = own(x, starts, comm.rank).setRequiresGrad();
    const all = x.clone().setRequiresGrad();
    local.zeroGrad();
    whole.zeroGrad();
    const y = local.forward(xs);
    const wanted = whole.forward(all);
    close(y, own(wanted.detach(), starts, comm.rank), 'y', offset === 0 ? 1e-10 : 1e-6);
    y.mul(own(target, starts, comm.rank))
      .square()
      .sum()
      .backward();
    wanted.mul(target).square().sum().backward();
    gatherGrads(local, { comm });
    const tolerance = offset === 0 ? 1e-10 : 1e-5;
    close(xs.grad, own(all.grad as Tensor, starts, comm.rank), 'gx', tolerance);
    close(local.weight?.grad ?? null, whole.weight?.grad ?? null, 'ggamma', tolerance);
    close(local.bias?.grad ?? null, whole.bias?.grad ?? null, 'gbeta', tolerance);
    for (const [name, t] of Object.entries(whole.stateDict())) close(local.stateDict()[name], t, name);
  }
}

const normCases: CommCase[] = [
  ...[
    { name: 'affine', options: {}, train: true },
    { name: 'without affine', options: { affine: false }, train: true },
    { name: 'evaluation by running statistics', options: {}, train: false },
    { name: 'evaluation without running statistics', options: { trackRunningStats: false }, train: false },
    { name: 'equal shares of all batches', options: { momentum: null, eps: 0.01 }, train: false },
  ].map(({ name, options, train }) => ({
    name: `DistributedBatchNorm1d equals BatchNorm1d on all rows: ${name}`,
    run: (comm: Communicator) => compareNorms(comm, options, 0, train),
  })),
  {
    name: 'DistributedBatchNorm1d far from 0',
    run: (comm) => compareNorms(comm, {}, 1e6, true),
  },
  {
    name: 'DistributedBatchNorm1d: running statistics have the same bits on all ranks',
    run(comm) {
      const norm = new DistributedBatchNorm1d(3, { comm });
      norm.forward(randn([4 + comm.rank, 3], { random: new Random(comm.rank) }));
      for (const t of Object.values(norm.stateDict()))
        for (const other of comm.allGather(t.dataSync() as Float32Array))
          assert.deepEqual(other, t.dataSync());
    },
  },
  {
    name: 'DistributedBatchNorm1d: too few rows on all ranks together',
    run(comm) {
      const norm = new DistributedBatchNorm1d(3, { comm });
      const rows = comm.rank === 0 ? 1 : 0;
      assert.throws(() => norm.forward(zeros([rows, 3])), /at least 2 rows on all ranks together/);
      assert.throws(() => norm.forward(zeros([4, 2])), /shape \[N, 3\]/);
    },
  },
  {
    name: 'training with batch norm: collectives inside backward run alongside the buckets; every N gives the loss of one',
    run(comm) {
      const rows = 24;
      const x = sharedRows(rows, 4, 1);
      const target = sharedRows(rows, 2, 2);
      const starts = Array.from({ length: comm.size + 1 }, (_, q) => Math.floor((rows * q) / comm.size));
      const losses = [true, false].map((distributed) => {
        manualSeed(9);
        const first = new Linear(4, 6, { dtype });
        const norm = distributed
          ? new DistributedBatchNorm1d(6, { dtype, comm })
          : new BatchNorm1d(6, { dtype });
        const last = new Linear(6, 2, { dtype });
        // Even ranks use it above the norm, odd ones below: its bucket leaves before the norm's collectives, or after.
        const extra = new Linear(6, 6, { dtype });
        const isEven = (row: number) => starts.findLastIndex((start) => start <= row) % 2 === 0;
        const mask = (wanted: boolean) =>
          fromArray(
            Array.from({ length: rows }, (_, row) => [isEven(row) === wanted ? 1 : 0]),
            { dtype },
          );
        const onlyOn = (wanted: boolean, h: Tensor): Tensor => {
          if (!distributed) return h.add(extra.forward(h).mul(mask(wanted)));
          return (comm.rank % 2 === 0) === wanted ? h.add(extra.forward(h)) : h;
        };
        const model = new (class extends Module {
          readonly parts = [first, norm, last, extra];
          forward(input: Tensor): Tensor {
            const h = norm.forward(onlyOn(false, first.forward(input)));
            return last.forward(onlyOn(true, h).relu());
          }
        })();
        const optimizer = new SGD(model.parameters(), { lr: 0.1 });
        const history: number[] = [];
        for (let epoch = 0; epoch < 5; epoch++) {
          optimizer.zeroGrad();
          const [xs, ts] = [x, target].map((t) => (distributed ? own(t, starts, comm.rank) : t));
          const loss = mseLoss(model.forward(xs), ts, { reduction: 'sum' }).div(rows);
          if (distributed) distributedBackward(loss, model, { comm, bucketBytes: 64 });
          else loss.backward();
          optimizer.step();
          const total = Float64Array.of(loss.item());
          if (distributed) comm.allReduce(total);
          history.push(total[0]);
        }
        return history;
      });
      for (const [epoch, loss] of losses[0].entries())
        assert.ok(Math.abs(loss - losses[1][epoch]) < 1e-10, `epoch ${epoch}: ${loss} ≠ ${losses[1][epoch]}`);
    },
  },
];

export const nnCases: readonly CommCase[] = [...gradientCases, ...normCases];
