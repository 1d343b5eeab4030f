/**
 * Allows one build at a time in a folder, since two would write the same object files. The lock is a file with the id
 * of the building process; the lock of an ended process is removed. Plain Node.js without dependencies, as
 * build-addon.mjs.
 */
import {
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const pollMs = 200;
/** A clean build takes minutes; after this long the process id probably belongs to another program. */
const longestWaitMs = 30 * 60_000;
/** Locks that this process holds: a lock with its id that is not among them is from an earlier process with that id. */
const held = new Set();

/** Takes the lock if it is free. */
function take(path) {
  let file;
  try {
    file = openSync(path, 'wx');
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
  writeSync(file, `${process.pid}\n`);
  closeSync(file);
  held.add(path);
  return true;
}

/** Returns the content of the lock: a process id as text, empty while it is being written; null if the lock is gone. */
function readLock(path) {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

function isStale(path, id) {
  if (!/^\d+$/.test(id)) return false;
  if (Number(id) === process.pid) return !held.has(path);
  try {
    process.kill(Number(id), 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

/**
 * Removes the stale lock of process `id`. It is renamed first: another process may have replaced it in the meantime, in
 * which case it is restored.
 */
function removeStale(path, id) {
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  if (readLock(aside) !== id) linkSync(aside, path);
  rmSync(aside, { force: true });
}

/** Takes the lock of a folder; yields before each wait. */
function* acquire(folder, say) {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, '.building');
  const start = performance.now();
  for (let waits = 0; !take(path); ) {
    const id = readLock(path);
    if (id === null) continue;
    if (isStale(path, id)) {
      removeStale(path, id);
      continue;
    }
    if (performance.now() - start > longestWaitMs)
      throw new Error(`${path} is too old. Remove it if process ${id} is not a build of Skein`);
    if (waits++ === 0) say(`build-addon: waiting for process ${id}, which is building in ${folder}`);
    yield;
  }
  return () => {
    rmSync(path, { force: true });
    held.delete(path);
  };
}

/** Runs `work` while no other process builds in `folder`. */
export function withLock(folder, work, say = console.error) {
  const steps = acquire(folder, say);
  let step = steps.next();
  for (; !step.done; step = steps.next())
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollMs);
  try {
    return work();
  } finally {
    step.value();
  }
}

/** Runs `work` like withLock, without blocking. */
export async function withLockAsync(folder, work, say = console.error) {
  const steps = acquire(folder, say);
  let step = steps.next();
  for (; !step.done; step = steps.next()) await sleep(pollMs);
  try {
    return await work();
  } finally {
    step.value();
  }
}
