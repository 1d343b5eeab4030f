/**
 * One rank that runs a table of cases with all others: `case-worker.ts <module> <export>`. Prints a JSON line per case.
 */
import { MpiCommunicator, setCommunicator } from 'skein/dist';
import type { CommCase } from './communicator-contract.js';

const [module, name] = process.argv.slice(2);
const comm = new MpiCommunicator({ timeout: 60, peerTimeout: 20 });
setCommunicator(comm);
const cases = (await import(`./${module}`))[name] as readonly CommCase[];

for (const { name, run } of cases) {
  let error = '';
  try {
    await run(comm);
  } catch (thrown) {
    error = (thrown as Error).stack ?? String(thrown);
  }
  process.stdout.write(`${JSON.stringify({ rank: comm.rank, name, error })}\n`);
  // After a failure ranks are no longer synchronised: further cases would only fail too.
  const failed = Int32Array.of(error === '' ? 0 : 1);
  comm.allReduce(failed, 'max');
  if (failed[0] > 0) break;
}
comm.close();
