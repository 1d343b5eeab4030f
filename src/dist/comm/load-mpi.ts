/**
 * Finds and loads the MPI addon, only when MPI is requested; the error for a missing addon names what to install. The
 * addon is built with the others if MPI's headers are found (native/Makefile).
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { CommError } from '../../util/errors.js';
import { invocation } from '../../util/invocation.js';
import type { CommArray, ReduceArray } from './communicator.js';

/** The addon's functions, as native/mpi/addon.cpp defines them. Operations return their number. */
export interface MpiAddon {
  open(
    timeout: number,
    peerTimeout: number,
    chunkBytes: number,
    maxSleepMicroseconds: number,
    done: (id: number) => void,
    oneSided: boolean,
  ): readonly [rank: number, size: number, library: string, noWindows: string];
  send(to: number, tag: number, data: CommArray, buffered: boolean): number;
  recv(from: number, tag: number, into: CommArray): number;
  barrier(): number;
  broadcast(root: number, data: CommArray): number;
  exchange(sends: readonly CommArray[], recvs: readonly CommArray[]): number;
  allReduce(data: ReduceArray, reduction: number, channel: number): number;
  rows(kind: number, owner: number, table: string, ids: Int32Array, rows: ReduceArray, width: number): number;
  /** Blocks; returns the error message, or an empty string. The operation's number is invalid afterwards. */
  wait(id: number): string;
  isDone(id: number): boolean;
  notifyWhenDone(id: number): void;
  addTable(name: string, data: ReduceArray, width: number): void;
  removeTable(name: string): void;
  /** Starts an operation; `type` is 0 for f32, 1 for f64, 2 for i32. */
  allocateTable(name: string, bytes: number, width: number, type: number): number;
  tableMemory(name: string, bytes: number): ArrayBuffer;
  /** Sets the file that receives the reason when the job ends; '' for none. */
  setJournal(path: string): void;
  abort(reason: string): never;
  /** `atExit`: the program has ended; peers that wait for this rank are notified. */
  close(atExit: boolean): number;
}

const addonPath = '../../../build/mpi.node';

/** Whether the addon was built; loading it may still fail. */
export function isMpiBuilt(): boolean {
  return existsSync(new URL(addonPath, import.meta.url));
}

/** Loads the addon. `path` is for tests. */
export function loadMpi(path = addonPath): MpiAddon {
  try {
    return createRequire(import.meta.url)(path) as MpiAddon;
  } catch (error) {
    const cause = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new CommError(
      `mpi: expected the addon build/mpi.node, got: ${cause}. Install an MPI library with its headers ` +
        '(Debian, Ubuntu: apt-get install libopenmpi-dev openmpi-bin; Fedora: dnf install openmpi-devel; ' +
        `macOS: brew install open-mpi), then run: ${invocation()} build --mpi`,
      {},
      { cause: error },
    );
  }
}
