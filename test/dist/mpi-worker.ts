/**
 * One rank of the tests under mpirun. `contract` runs the table of cases and prints one JSON line for each; the other words
 * are scenes that end badly (mpi-communicator.test.ts says how).
 */
import { hostname } from 'node:os';
import { currentCommunicator, MpiCommunicator, openCommunicator } from 'skein/dist';
import { communicatorContract } from './communicator-contract.js';

const [scene = 'contract', settings = '{}'] = process.argv.slice(2);
const comm = new MpiCommunicator({ timeout: 20, peerTimeout: 10, ...JSON.parse(settings) });

const say = (fields: object) => process.stdout.write(`${JSON.stringify({ rank: comm.rank, ...fields })}\n`);

const attempt = (f: () => void): string => {
  try {
    f();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

/** Blocks JavaScript, as a long computation does. */
const compute = (milliseconds: number) =>
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);

const scenes: Readonly<Record<string, () => void | Promise<void>>> = {
  async contract() {
    for (const { name, run } of communicatorContract) {
      try {
        await run(comm);
        say({ name, error: '' });
      } catch (error) {
        say({ name, error: (error as Error).message });
      }
      comm.barrier();
    }
  },
  'one-sided'() {
    const table = comm.allocateTable('t', { rows: 2, width: 2, dtype: 'f32' });
    say({ ...comm.capabilities });
    comm.close();
    say({ lengthAfterClose: table.length });
  },
  large() {
    const bytes = 2 ** 31 + 12;
    const data = new Uint8Array(bytes);
    const places = [0, 2 ** 31, bytes - 1];
    if (comm.rank === 0) for (const [i, place] of places.entries()) data[place] = 5 + i;
    comm.broadcast(data);
    const seen = places.map((place) => data[place]);
    const floats = new Float32Array(data.buffer).fill(comm.rank + 1);
    comm.allReduce(floats);
    say({ seen, sums: [0, floats.length >> 1, floats.length - 1].map((i) => floats[i]) });
  },
  where() {
    say({ host: hostname() });
  },
  'other-lengths'() {
    say({ error: attempt(() => comm.allReduce(new Float32Array(comm.rank === 0 ? 3 : 4))) });
    say({ error: attempt(() => (comm.rank === 0 ? comm.barrier() : comm.allReduce(new Float32Array(2)))) });
  },
  'other-roots'() {
    const roots = [0, 1 % comm.size, 0];
    say({ error: attempt(() => comm.broadcast(new Float32Array(2), roots[comm.rank])) });
    say({ error: attempt(() => comm.broadcast(new Float32Array(2 + (comm.rank % 2)))) });
    const sum = Float32Array.of(1);
    comm.allReduce(sum);
    say({ error: sum[0] === comm.size ? '' : 'a later collective is disturbed' });
  },
  'other-operations'() {
    say({ error: attempt(() => comm.allReduce(new Float32Array(2), comm.rank === 0 ? 'sum' : 'max')) });
    const other = comm.rank === 0 ? new Float64Array(1) : new Int32Array(2);
    say({ error: attempt(() => comm.allReduce(other)) });
  },
  'opens-twice'() {
    say({ error: currentCommunicator() === comm ? '' : 'another current communicator' });
    say({ error: attempt(() => openCommunicator({ kind: 'mpi' })) });
    comm.close();
    say({ error: attempt(() => openCommunicator({ kind: 'mpi' })) });
  },
  'ends-in-collective'() {
    comm.barrier();
    if (comm.rank === 1) process.exit(0);
    comm.allReduce(new Float32Array(2));
  },
  'ends-before-message'() {
    comm.barrier();
    if (comm.rank === 1) process.exit(0);
    comm.recv(1, new Float32Array(1), 7);
  },
  'unknown-tag'() {
    comm.send(1 - comm.rank, new Float32Array(2), 98);
    say({ error: attempt(() => comm.recv(1 - comm.rank, new Float32Array(2), 99)) });
    const rest = new Float32Array(2);
    comm.recv(1 - comm.rank, rest, 98);
  },
  'busy-peer'() {
    if (comm.rank === 1) compute(3000);
    comm.barrier();
    say({ error: '' });
  },
  'rows-while-computing'() {
    comm.registerTable('t', new Float32Array(100).fill(comm.rank), 10);
    comm.barrier();
    const start = performance.now();
    if (comm.rank === 1) compute(2000);
    else comm.getRows(1, 't', Int32Array.of(1), new Float32Array(10)).wait();
    say({ error: '', milliseconds: performance.now() - start });
    comm.barrier();
  },
  overlap() {
    const data = new Float32Array(1 << 20).fill(1);
    const handle = comm.allReduceAsync(data);
    compute(1500);
    say({ error: handle.done ? '' : 'the reduction waited for JavaScript' });
    handle.wait();
  },
  'never-received'() {
    if (comm.rank === 0) comm.send(1, new Float32Array(100_000), 5);
  },
  orphans() {
    comm.barrier();
    say({ pid: process.pid });
    if (comm.rank === 1) compute(60_000);
    comm.recv(1, new Float32Array(1), 42);
  },
  'killed-at-work'() {
    const data = new Float32Array(50_000);
    comm.registerTable('t', new Float32Array(64_000), 64);
    comm.barrier();
    say({ pid: process.pid });
    for (;;) {
      const rows = comm.getRows(
        (comm.rank + 1) % comm.size,
        't',
        Int32Array.of(1, 2, 999),
        new Float32Array(192),
      );
      comm.allReduce(data);
      rows.wait();
    }
  },
  killed() {
    comm.barrier();
    say({ pid: process.pid });
    if (comm.rank === 1) {
      compute(1000);
      process.kill(process.pid, 'SIGKILL');
    }
    comm.recv(1, new Float32Array(1), 42);
  },
  stopped() {
    comm.barrier();
    if (comm.rank === 1) process.kill(process.pid, 'SIGSTOP');
    comm.allReduce(new Float32Array(5000));
  },
  abort() {
    comm.barrier();
    if (comm.rank === comm.size - 1) comm.abort('the loss is not a number');
    compute(20_000);
  },
  throws() {
    comm.barrier();
    if (comm.rank === 0) throw new Error('a mistake in the program');
    comm.barrier();
  },
  forgets() {
    comm.barrier();
  },
};

await scenes[scene]();
if (scene !== 'forgets') comm.close();
