/** One rank of the temporal tests under mpirun: runs the table of cases and prints one JSON line for each. */
import { openCommunicator } from 'skein/dist';
import { temporalCases } from './temporal-cases.js';
import { mailboxCases } from './temporal-mailbox-cases.js';
import { replicaCases } from './temporal-replica-cases.js';

const comm = openCommunicator({ kind: 'mpi', timeout: 60, peerTimeout: 20 });
const only = process.argv[2] ?? '';
for (const { name, run } of [...temporalCases, ...mailboxCases, ...replicaCases]) {
  if (!name.includes(only)) continue;
  process.stdout.write(`${JSON.stringify({ rank: comm.rank, name, outcome: await run(comm) })}\n`);
}
comm.close();
