/**
 * Changes that users may make to memory while asynchronous calls use it. `node --import tsx async-cases.ts <case>` makes them in
 * a separate process, which a mistake would end, and prints the outcome as JSON.
 */
import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { MemoryStore, PartitionBuffer, PartitionLayout, rowAdagrad, rowAdam } from 'skein/storage';
import { asyncKernels, type Kernels, unshared } from '#internal/native/index.js';
import { TableFiles } from '#internal/storage/table-files.js';
import { byPosition, kernelCalls } from './kernel-calls.js';

type Resizable = new (
  bytes: number,
  options: { maxByteLength: number },
) => ArrayBuffer & { resize(bytes: number): void };
type Run = (...args: unknown[]) => Promise<unknown>;

const folder = mkdtempSync(join(tmpdir(), 'skein-async-'));

/** The error that something ends with, or 'accepted'. */
async function outcome(act: () => unknown): Promise<string> {
  try {
    await act();
    return 'accepted';
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  }
}

function transfer(array: ArrayBufferView): void {
  structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] });
}

async function adagradTable(rows: number, width: number) {
  const optimizer = rowAdagrad({ learningRate: 0.1 });
  const files = await TableFiles.create(join(folder, 'table'), {
    layout: new PartitionLayout(rows, 1),
    columns: optimizer.columns('x', width),
    init: optimizer.init,
  });
  const buffer = new PartitionBuffer(files, 1);
  await buffer.load();
  return { optimizer, buffer };
}

/** Starts many calls, so that most still wait when their arrays change. Returns outcomes other than a result or an error of the kernel. */
async function overwritten(name: string, make: () => readonly unknown[]): Promise<string[]> {
  const run = byPosition(asyncKernels, name as keyof Kernels) as Run;
  const want = await run(...make());
  const jobs = Array.from({ length: 200 }, () => {
    const args = make();
    const job = run(...args).then(
      (got) => (Object.is(got, want) ? 'as before' : `${name}: ${String(got)}`),
      (error: Error) => (error.message.startsWith(`kernel ${name} failed: `) ? 'refused' : error.message),
    );
    for (const arg of args)
      if (arg instanceof Int32Array && arg.some((value) => value > 0)) arg.fill(2_000_000_000);
    return job;
  });
  return [...new Set(await Promise.all(jobs))].filter((end) => end !== 'as before' && end !== 'refused');
}

const cases: Readonly<Record<string, (argument: string) => Promise<unknown>>> = {
  async transfer() {
    const n = 700;
    const [a, c] = [new Float32Array(n * n).fill(1), new Float32Array(n * n)];
    const job = asyncKernels.gemm({
      a,
      b: a,
      bias: null,
      c,
      m: n,
      n,
      k: n,
      transA: false,
      transB: false,
      accumulate: false,
    });
    const tries: string[] = [];
    for (const array of [a, c]) {
      tries.push(await outcome(() => transfer(array)));
      const { port1 } = new MessageChannel();
      tries.push(await outcome(() => port1.postMessage(array, [array.buffer])));
      port1.close();
      for (const name of ['transfer', 'transferToFixedLength']) {
        const take = (array.buffer as unknown as Record<string, (bytes: number) => void>)[name];
        if (take !== undefined) tries.push(await outcome(() => take.call(array.buffer, 16)));
      }
    }
    await job;
    return { tries, kept: a.length === n * n && c.every((value) => value === n) };
  },

  async resizable() {
    const buffer = new (ArrayBuffer as unknown as Resizable)(64, { maxByteLength: 64 });
    return outcome(() => asyncKernels.sumSquares(new Float32Array(buffer), 16));
  },

  async unshared() {
    const ids = Int32Array.of(9, 1);
    const rows = unshared(new Float32Array(8));
    await asyncKernels.gatherRows(new Float32Array(40), ids, rows, 2, 16);
    transfer(rows);
    transfer(ids);
    return [rows.length, ids.length];
  },

  async followed(names) {
    writeFileSync(join(folder, 'rows'), new Uint8Array(12));
    const calls = kernelCalls(openSync(join(folder, 'rows'), 'r'));
    const ends: string[] = [];
    for (const name of names.split(','))
      ends.push(...(await overwritten(name, calls[name as keyof Kernels])));
    return ends;
  },

  async optimizer() {
    const { optimizer, buffer } = await adagradTable(40_000, 16);
    const ids = Int32Array.from({ length: 20_000 }, (_, i) => i);
    for (let i = 0; i < 20; i++) {
      const given = ids.slice();
      const step = optimizer.stepAsync(buffer, given, new Float32Array(20_000 * 16).fill(1));
      given.fill(2_000_000_000);
      await step;
    }
    const rows = buffer.indexRead(Int32Array.of(0, 19_999, 20_000));
    await buffer.unload(false);
    return { changed: rows[0] < 0, alike: rows[0] === rows[16], untouched: rows[32] === 0 };
  },

  async refusedStep() {
    const { buffer } = await adagradTable(8, 4);
    const optimizer = rowAdagrad({ learningRate: 0.1 });
    const shrinking = new (ArrayBuffer as unknown as Resizable)(16, { maxByteLength: 16 });
    const text = await outcome(() =>
      optimizer.stepAsync(buffer, Int32Array.of(0), new Float32Array(shrinking).fill(1)),
    );
    const rows = buffer.indexRead(Int32Array.of(0));
    const arrays = rowAdam();
    const wrong = await outcome(() =>
      arrays.stepArrays(
        new Float32Array(8),
        [new Float32Array(8), new Float32Array(4)],
        Int32Array.of(1),
        new Float32Array(4),
        4,
      ),
    );
    await buffer.unload(false);
    return { text, wrong, rows: [...rows], steps: [optimizer.state().steps, arrays.state().steps] };
  },

  async store() {
    const data = new Float32Array(40);
    const store = new MemoryStore(data, { rows: 10, width: 4 });
    transfer(data);
    const memory = new (ArrayBuffer as unknown as Resizable)(160, { maxByteLength: 160 });
    const shrunk = new MemoryStore(new Float32Array(memory), { rows: 10, width: 4 });
    memory.resize(16);
    const last = Int32Array.of(9);
    const uses = [store, shrunk].flatMap((from) => [
      () => from.gather(last),
      () => from.add(last, new Float32Array(4)),
      () => from.put(last, new Float32Array(4)),
      () => from.range(0, 10),
      () => from.rangePut(0, new Float32Array(40)),
      () => from.sort(),
      () => from.shuffle(1),
    ]);
    return Promise.all(uses.map(outcome));
  },
};

const [name, argument = ''] = process.argv.slice(2);
try {
  console.log(JSON.stringify(await cases[name](argument)));
} finally {
  rmSync(folder, { recursive: true });
}
