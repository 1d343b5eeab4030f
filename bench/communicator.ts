/**
 * Latency and bandwidth of the MPI communicator; all ranks run it: `skein run -n 2 -- npx tsx bench/communicator.ts`.
 * Best of several repetitions, because launchers and machines add noise. One JSON line per case on rank 0.
 */
import { type Communicator, MpiCommunicator } from 'skein/dist';

const comm: Communicator = new MpiCommunicator({ oneSided: true });

function best(times: number, repetitions: number, work: () => void): number {
  let least = Infinity;
  for (let t = 0; t < times; t++) {
    comm.barrier();
    const start = performance.now();
    for (let r = 0; r < repetitions; r++) work();
    least = Math.min(least, (performance.now() - start) / repetitions);
  }
  return least;
}

function report(name: string, milliseconds: number, bytes: number): void {
  if (comm.rank > 0) return;
  const microseconds = Number((milliseconds * 1000).toFixed(1));
  const gigabytes = Number((bytes / milliseconds / 1e6).toFixed(2));
  process.stdout.write(
    `${JSON.stringify({ case: name, ranks: comm.size, bytes, microseconds, 'GB/s': gigabytes })}\n`,
  );
}

for (const bytes of [4, 4096, 1 << 20, 1 << 26]) {
  const data = new Uint8Array(bytes);
  const repetitions = bytes > 1e7 ? 3 : bytes > 1e5 ? 30 : 500;
  const half = best(5, repetitions, () => {
    if (comm.rank === 0) {
      comm.isend(1, data).wait();
      comm.recv(1, data);
    } else if (comm.rank === 1) {
      comm.recv(0, data);
      comm.isend(0, data).wait();
    }
  });
  report('one way', half / 2, bytes);
}

for (const length of [1, 1 << 18, 1 << 22]) {
  const data = new Float32Array(length);
  const time = best(5, length > 1e6 ? 5 : 50, () => comm.allReduce(data));
  report('allReduce', time, data.byteLength);
}

const width = 64;
const rows = 100_000;
// Requests answered by the owner's thread, then reads through a window, if MPI supports it.
comm.registerTable('registered', new Float32Array(rows * width), width);
comm.allocateTable('allocated', { rows, width, dtype: 'f32' });
const tables = comm.capabilities.oneSided ? ['registered', 'allocated'] : ['registered'];
comm.barrier();
for (const table of tables) {
  for (const count of [1, 1000, 50_000]) {
    const ids = Int32Array.from({ length: count }, (_, i) => (i * 7919) % rows);
    const out = new Float32Array(count * width);
    const time = best(5, count > 1e4 ? 5 : 50, () => {
      if (comm.rank === 0) comm.getRows(1, table, ids, out).wait();
    });
    report(`getRows ${count} x ${width}, ${table}`, time, out.byteLength);
  }
}
comm.barrier();
comm.close();
