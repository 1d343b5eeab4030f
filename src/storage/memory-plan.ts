/**
 * Chooses, for a memory budget, how many partitions a table has and how many are resident: the choice with the least
 * predicted IO per epoch, before anything is allocated.
 *
 * Counts the memory that grows with the table: the buffer's block, the side memory for prefetch and write-back, the
 * staging memory of file transfers, and the edges of the resident buckets. Everything else (the runtime, batches, the
 * model) is `reservedBytes`. IO follows from the number of swaps of a BETA ordering: every swap reads one partition and
 * writes one; the resident partitions are written at the end of an epoch and read at the start of the next.
 */
import { checkInteger, checkNumber, expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { formatBytes } from '../util/size.js';
import { padToPage } from './direct-io.js';
import { betaSwaps } from './orderings/beta.js';

export interface MemoryPlanOptions {
  readonly rows: number;
  /** Bytes per row of trained columns: values and optimiser state. */
  readonly rowBytes: number;
  /** Bytes per row of read-only columns: features. Default 0. */
  readonly fixedRowBytes?: number;
  /** The number of training edges. Default 0. */
  readonly edges?: number;
  /** Bytes per edge. Default 12. */
  readonly edgeBytes?: number;
  /** Which edges are in memory: those between resident partitions (default), all, or none. */
  readonly edgesInMemory?: 'resident' | 'all' | 'none';
  readonly memoryBudget: number;
  /** Bytes for the rest of the process. Default 256 MiB. */
  readonly reservedBytes?: number;
  /** A fixed number of partitions, for data that are already prepared. */
  readonly partitions?: number;
  /** COMET: the number of partitions that are swapped together. Default 1. */
  readonly fineToCoarseRatio?: number;
  /** The most partitions: more mean smaller buckets and more interruptions. Default 128. */
  readonly maxPartitions?: number;
  /** Read ahead and write back in the background. Default true. */
  readonly prefetch?: boolean;
}

export interface MemoryPlan {
  readonly partitions: number;
  /** The number of resident partitions; all if the table fits. */
  readonly capacity: number;
  readonly fineToCoarseRatio: number;
  /** Whether everything fits, so that an epoch needs no IO. */
  readonly inMemory: boolean;
  readonly tableBytes: number;
  readonly partitionBytes: number;
  /** The buffer's block. */
  readonly bufferBytes: number;
  /** Side memory and staging. */
  readonly sideBytes: number;
  readonly residentEdgeBytes: number;
  /** The sum of the above and the reserve, at most the budget. */
  readonly memoryBytes: number;
  /** The number of swaps per epoch. */
  readonly swaps: number;
  readonly readBytesPerEpoch: number;
  readonly writeBytesPerEpoch: number;
  readonly predictedIoBytesPerEpoch: number;
  /** The plan as text. */
  readonly report: string;
}

/** The staging memory of file transfers. */
export const stagingBytes = 2 ** 24;
/** The cost of a swap, which interrupts training and starts transfers, as bytes transferred in the same time. */
const swapCostBytes = 2 ** 24;
/** The size of partitions of tables that fit: large enough for full disk speed, small enough for one typed array. */
const comfortableBytes = 2 ** 29;
/** A partition's file must fit one typed array. */
const maxPartitionBytes = 2 ** 32 - 2 ** 13;
const where = 'planMemory';

type Settings = Required<Omit<MemoryPlanOptions, 'partitions'>> & { readonly partitions: number | null };
type Shape = Omit<MemoryPlan, 'report'>;

export function planMemory(options: MemoryPlanOptions): MemoryPlan {
  checkOptionNames('planMemory', options, {
    rows: true,
    rowBytes: true,
    fixedRowBytes: true,
    edges: true,
    edgeBytes: true,
    edgesInMemory: true,
    memoryBudget: true,
    reservedBytes: true,
    partitions: true,
    fineToCoarseRatio: true,
    maxPartitions: true,
    prefetch: true,
  });
  const settings = check(options);
  const candidates = partitionCounts(settings);
  let best: Shape | null = null;
  for (const partitions of candidates) {
    const shape = largestThatFits(settings, partitions);
    if (shape !== null && (best === null || cost(shape) < cost(best))) best = shape;
  }
  if (best === null) throw refusal(settings, candidates);
  return { ...best, report: describePlan(settings, best) };
}

function check(options: MemoryPlanOptions): Settings {
  const ratio = checkInteger(where, 'fineToCoarseRatio', options.fineToCoarseRatio ?? 1, 1);
  const partitions = options.partitions ?? null;
  if (partitions !== null) {
    checkInteger(where, 'partitions', partitions, 1, options.rows);
    if (partitions % ratio !== 0) {
      throw new ValueError(
        expected(where, `a multiple of fineToCoarseRatio ${ratio}`, 'partitions', partitions),
      );
    }
  }
  return {
    rows: checkInteger(where, 'rows', options.rows, 1, 2 ** 31 - 1),
    rowBytes: checkInteger(where, 'rowBytes', options.rowBytes),
    fixedRowBytes: checkInteger(where, 'fixedRowBytes', options.fixedRowBytes ?? 0),
    edges: checkInteger(where, 'edges', options.edges ?? 0),
    edgeBytes: checkInteger(where, 'edgeBytes', options.edgeBytes ?? 12),
    edgesInMemory: options.edgesInMemory ?? 'resident',
    memoryBudget: checkNumber(where, 'memoryBudget', options.memoryBudget, 1),
    reservedBytes: checkNumber(where, 'reservedBytes', options.reservedBytes ?? 2 ** 28, 0),
    maxPartitions: checkInteger(where, 'maxPartitions', options.maxPartitions ?? 128, 1),
    prefetch: options.prefetch ?? true,
    fineToCoarseRatio: ratio,
    partitions,
  };
}

/** Returns the numbers of partitions to try: first one that suits a table in memory, then all up to the limit. */
function partitionCounts(s: Settings): number[] {
  if (s.partitions !== null) return [s.partitions];
  const bytes = s.rows * (s.rowBytes + s.fixedRowBytes);
  const step = s.fineToCoarseRatio;
  const comfortable = Math.min(s.rows, Math.max(1, Math.ceil(bytes / comfortableBytes / step)) * step);
  const counts = [comfortable];
  for (let p = 2 * step; p <= Math.min(s.rows, s.maxPartitions); p += step) counts.push(p);
  return counts;
}

function cost({ predictedIoBytesPerEpoch, swaps, inMemory }: Shape): number {
  return inMemory ? 0 : predictedIoBytesPerEpoch + swaps * swapCostBytes;
}

/** Returns the shape with the most resident partitions within the budget, or null if not even two fit. */
function largestThatFits(s: Settings, partitions: number): Shape | null {
  const step = s.fineToCoarseRatio;
  for (let capacity = partitions; capacity >= Math.min(partitions, 2 * step); capacity -= step) {
    const shape = shapeOf(s, partitions, capacity);
    if (shape.memoryBytes <= s.memoryBudget && shape.partitionBytes <= maxPartitionBytes) return shape;
  }
  return null;
}

function shapeOf(s: Settings, partitions: number, capacity: number): Shape {
  const size = Math.ceil(s.rows / partitions);
  const inMemory = capacity === partitions;
  const changed = padToPage(size * s.rowBytes);
  const partitionBytes = changed + padToPage(size * s.fixedRowBytes);
  const bufferBytes = capacity * size * (s.rowBytes + s.fixedRowBytes);
  const images = !inMemory && s.prefetch ? s.fineToCoarseRatio * (partitionBytes + changed) : 0;
  const sideBytes = images + Math.min(stagingBytes, partitionBytes);
  const share = { all: 1, none: 0, resident: (capacity / partitions) ** 2 }[s.edgesInMemory];
  const residentEdgeBytes = Math.ceil(s.edges * s.edgeBytes * share);
  const ratio = s.fineToCoarseRatio;
  const swaps = inMemory ? 0 : ratio * betaSwaps(partitions / ratio, capacity / ratio);
  const moved = inMemory ? 0 : swaps + capacity;
  const edgeReads = s.edgesInMemory === 'all' ? 0 : s.edges * s.edgeBytes;
  const readBytesPerEpoch = moved * partitionBytes + (inMemory ? 0 : edgeReads);
  const writeBytesPerEpoch = moved * changed;
  return {
    partitions,
    capacity,
    fineToCoarseRatio: ratio,
    inMemory,
    tableBytes: s.rows * (s.rowBytes + s.fixedRowBytes),
    partitionBytes,
    bufferBytes,
    sideBytes,
    residentEdgeBytes,
    memoryBytes: s.reservedBytes + bufferBytes + sideBytes + residentEdgeBytes,
    swaps,
    readBytesPerEpoch,
    writeBytesPerEpoch,
    predictedIoBytesPerEpoch: readBytesPerEpoch + writeBytesPerEpoch,
  };
}

/** Makes the error; if a larger budget helps, `details.leastBytes` is the least one. */
function refusal(s: Settings, candidates: readonly number[]): ValueError {
  // The whole table needs no side memory, so with few partitions it may need less than two of them.
  const shapes = candidates.flatMap((p) =>
    [p, Math.min(p, 2 * s.fineToCoarseRatio)].map((capacity) => shapeOf(s, p, capacity)),
  );
  const usable = shapes.filter((shape) => shape.partitionBytes <= maxPartitionBytes);
  if (usable.length === 0) {
    const advice = 'Use more partitions.';
    const got = formatBytes(shapes[0].partitionBytes);
    return new ValueError(expected(where, 'partitions below 4 GiB', 'a partition', got, advice));
  }
  const least = usable.reduce((a, b) => (b.memoryBytes < a.memoryBytes ? b : a));
  const split = `${least.partitions} partitions with ${least.capacity} in memory`;
  const reserve = `of which ${formatBytes(s.reservedBytes)} are reserved for the rest of the process`;
  const advice = `That is ${split}, ${reserve}. Raise the budget, use narrower rows or half precision.`;
  const need = `at least ${formatBytes(least.memoryBytes)} (${Math.ceil(least.memoryBytes)} bytes)`;
  return new ValueError(expected(where, need, 'memoryBudget', formatBytes(s.memoryBudget), advice), {
    leastBytes: Math.ceil(least.memoryBytes),
  });
}

function describePlan(s: Settings, plan: Shape): string {
  const table = `table ${formatBytes(plan.tableBytes)}: ${s.rows.toLocaleString('en')} rows of ${s.rowBytes + s.fixedRowBytes} bytes`;
  const memory = `memory ${formatBytes(plan.memoryBytes)} of ${formatBytes(s.memoryBudget)}: buffer ${formatBytes(plan.bufferBytes)}, transfers ${formatBytes(plan.sideBytes)}, edges ${formatBytes(plan.residentEdgeBytes)}, reserved ${formatBytes(s.reservedBytes)}`;
  if (plan.inMemory) return `${table}\neverything fits in memory: no IO during an epoch\n${memory}`;
  const group = plan.fineToCoarseRatio > 1 ? `, ${plan.fineToCoarseRatio} at a time` : '';
  const split = `${plan.partitions} partitions of ${formatBytes(plan.partitionBytes)}, ${plan.capacity} in memory${group}`;
  const io = `IO per epoch ${formatBytes(plan.predictedIoBytesPerEpoch)}: ${plan.swaps} swaps, ${formatBytes(plan.readBytesPerEpoch)} read, ${formatBytes(plan.writeBytesPerEpoch)} written`;
  return `${table}\n${split}\n${memory}\n${io}`;
}
