/**
 * Calls every native kernel, synchronous and asynchronous, with arguments that are wrong in one position. Run as a separate
 * process, because the mistakes it looks for would end it. Prints the kernel it works on, and finally what was not rejected.
 */
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asyncKernels, type Kernels, nativeKernels } from '#internal/native/index.js';
import { byPosition, type KernelCall, kernelCalls } from './kernel-calls.js';

type Run = (...args: unknown[]) => unknown;

/** Whole numbers that are neither sizes nor codes, by position: large or negative ones are valid there. */
const free: Readonly<Record<string, readonly number[]>> = {
  randomBits: [3],
  randomUniform: [5],
  randomNormal: [5],
  randomBernoulli: [4],
  randomIntegers: [2, 3, 5],
  dropoutEntries: [6],
  coalesceRows: [5],
  readRows: [0, 6],
  spmm: [15],
  crc32: [2],
  findOutOfRange: [2, 3],
  sampleNeighbors: [10, 11],
  sampleHop: [5, 6, 9, 10],
  drawNeighbors: [5, 6, 9, 10],
  sampleTemporalHop: [11, 17, 18],
  randomWalk: [7, 8, 9, 10, 12],
  sampleNegatives: [7, 8, 10, 11],
  metisPartition: [3, 4],
  metisPartitionWeighted: [6, 7],
  rankTile: [5],
};
/** Integer arrays, by position, whose values no address is computed from, or where every value means something. */
const notFollowed: Readonly<Record<string, readonly number[]>> = {
  binaryI32: [1, 2, 3],
  compareI32: [1, 2],
  dropoutRows: [1],
  dropoutEntries: [2, 3],
  gatAttention: [6],
  gatAttentionBackward: [9],
  findOutOfRange: [0],
  eventStatistics: [0, 3, 6, 7, 9, 10],
  sampleNeighbors: [5, 12],
  sampleHop: [11],
  sampleTemporalHop: [1, 2],
  pairFeatures: [1, 2, 7],
  momentAttention: [3, 11],
  randomWalk: [2],
  sampleNegatives: [1, 2],
  sortRows: [1],
  metisPartitionWeighted: [2, 3],
  rankTile: [3, 7],
};
/** Kernels with negative ids that mean: none, ignored, not known. */
const negatives = new Set([
  ...[
    'gatherRowsStrided',
    'crossEntropy',
    'crossEntropyBackward',
    'crossEntropyTotal',
    'sampleTemporalHop',
    'randomWalk',
  ],
]);

const missed: string[] = [];

async function refused(run: Run, args: KernelCall): Promise<boolean> {
  try {
    await run(...args);
    return false;
  } catch (error) {
    if (error instanceof Error && /kernel \w+/.test(error.message)) return true;
    throw error;
  }
}

function replaced(args: KernelCall, at: number, value: unknown): KernelCall {
  return args.map((arg, i) => (i === at ? (value as KernelCall[number]) : arg));
}

/**
 * Returns whether the x87 unit computes. A compiler that moves a value through an MMX register leaves the unit's stack full,
 * and remainders in JavaScript and the hash tables of the C++ library are wrong from then on.
 */
function hasCleanFloatUnit(): boolean {
  return [5.5, 7.25].every((value) => Math.abs((value % 2) - (value - 2 * Math.floor(value / 2))) === 0);
}

const isArray = (arg: unknown): arg is Int32Array => ArrayBuffer.isView(arg);

async function probe(name: string, run: Run, make: () => KernelCall): Promise<void> {
  if (await refused(run, make())) missed.push(`${name}: a valid call is rejected`);
  if (!hasCleanFloatUnit()) throw new Error(`${name} leaves values in MMX registers`);
  for (const [at, arg] of make().entries()) {
    const say = (what: string) => missed.push(`${name}, argument ${at + 1}: ${what} is accepted`);
    if (isArray(arg)) {
      if (!(await refused(run, replaced(make(), at, arg.subarray(0, arg.length - 1)))))
        say('one element short');
      if (!(await refused(run, replaced(make(), at, arg.subarray(0, 0))))) say('an empty array');
      await refused(run, replaced(make(), at, null));
      if (arg instanceof Int32Array) await probeValues(name, run, make, at, say);
    } else if (typeof arg === 'number' && free[name]?.includes(at) !== true) {
      // Real numbers are not sizes.
      if (!(await refused(run, replaced(make(), at, 1.5)))) continue;
      for (const value of [-1, -(2 ** 31), Number.NaN, 2 ** 31, 2 ** 52, 2 ** 62, 1e300])
        if (!(await refused(run, replaced(make(), at, value)))) say(String(value));
    }
  }
}

/** Sizes of 0, one and two at a time: nothing to do, or rejected, but neither a crash nor an endless loop. */
async function probeZeros(name: string, run: Run, make: () => KernelCall): Promise<void> {
  const sizes = [...make().entries()].filter(
    ([at, arg]) => Number.isInteger(arg) && !(name === 'readRows' && at === 0),
  );
  for (const [one] of sizes)
    for (const [other] of sizes) await refused(run, replaced(replaced(make(), one, 0), other, 0));
}

/** Output arrays are zero in kernel-calls.ts: wrong values there must do no harm, but need not be detected. */
async function probeValues(
  name: string,
  run: Run,
  make: () => KernelCall,
  at: number,
  say: (what: string) => void,
): Promise<void> {
  for (const value of [-7, 2_000_000_000, -(2 ** 31)]) {
    for (const end of ['first', 'last']) {
      const args = make();
      const ids = args[at] as Int32Array;
      const input = ids.some((id) => id !== 0);
      ids[end === 'first' ? 0 : ids.length - 1] = value;
      const was = await refused(run, args);
      const harmless = (value < 0 && negatives.has(name)) || notFollowed[name]?.includes(at) === true;
      // Of the temporal arrays only the first element is a destination.
      const spare = name === 'sampleTemporalHop' && end === 'last';
      if (input && !was && !harmless && !spare) say(`${value} as the ${end} element`);
    }
  }
}

const folder = process.env.PROBE_FOLDER ?? tmpdir();
const path = join(folder, 'rows.bin');
writeFileSync(path, new Uint8Array(12));
const file = openSync(path, 'r');
const calls = kernelCalls(file);
if (nativeKernels === null) throw new Error('the addon is not in use');
for (const name of Object.keys(nativeKernels) as (keyof Kernels)[]) {
  console.log(name);
  if (calls[name] === undefined) missed.push(`${name}: has no call in kernel-calls.ts`);
  else {
    await probe(name, byPosition(nativeKernels, name), calls[name]);
    await probe(name, byPosition(asyncKernels, name), calls[name]);
    await probeZeros(name, byPosition(nativeKernels, name), calls[name]);
  }
}
closeSync(file);
console.log(JSON.stringify(missed));
