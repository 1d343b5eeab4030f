/**
 * A batch of a small random stream for tests of models, made by brute force: recent neighbours, random state, random
 * features. Nodes 0 … numNodes − 1, events at whole times with ties.
 */
import { TemporalHop } from 'skein/sample';
import type { TemporalBatch, TemporalConfig } from 'skein/temporal';
import { type FloatDType, randn } from 'skein/tensor';
import { Random } from 'skein/util';
import type { MailBoxRows } from '#internal/temporal/mailbox/rows.js';

export interface SmallBatchOptions {
  readonly config: TemporalConfig;
  readonly dimEdge: number;
  readonly dimNode?: number;
  readonly dtype?: FloatDType;
  readonly negatives?: number;
  readonly seed?: number;
  /** Nodes have no mail yet with this probability. */
  readonly empty?: number;
}

const numNodes = 12;
const numEvents = 60;
const batchEvents = 8;

interface Rows {
  readonly nodes: Int32Array;
  readonly times: Float64Array;
}

interface Stream {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly time: Float64Array;
}

export function smallBatch(options: SmallBatchOptions): TemporalBatch {
  const { config, dimEdge, dimNode = 0, dtype = 'f32', negatives: amount = 1, empty = 0 } = options;
  const random = new Random(options.seed ?? 1);
  const stream = makeStream(random);
  const eventRows = Int32Array.from({ length: batchEvents }, (_, i) => numEvents - batchEvents + i);
  const negatives = Int32Array.from({ length: batchEvents * amount }, () => random.nextInt(numNodes));
  const src = eventRows.map((row) => stream.src[row]);
  const dst = eventRows.map((row) => stream.dst[row]);
  const times = Float64Array.from(eventRows, (row) => stream.time[row]);
  const roots: Rows = {
    nodes: Int32Array.from([...src, ...dst, ...negatives]),
    times: Float64Array.from([
      ...times,
      ...times,
      ...Array.from(negatives, (_, i) => times[Math.floor(i / amount)]),
    ]),
  };
  const { history, duration } = config.sampling;
  const snapshots = Array.from({ length: history }, (_, w) => sampleHops(stream, roots, config, w, duration));
  const lastRows = snapshots.map((hops) => hops[hops.length - 1].srcNodes);
  const nodes = Int32Array.from(new Set(lastRows.flatMap((rows) => [...rows])));
  const range = (from: number, count: number): Int32Array =>
    Int32Array.from({ length: count }, (_, i) => from + i);
  return {
    ...{ eventRows, src, dst, times, negatives, hops: snapshots[0], snapshots, nodes },
    rootNodes: roots.nodes,
    rootTimes: roots.times,
    srcRoots: range(0, batchEvents),
    dstRoots: range(batchEvents, batchEvents),
    negRoots: range(2 * batchEvents, negatives.length),
    nodeOfRow: lastRows.map((rows) => rows.map((node) => nodes.indexOf(node))),
    state: config.memory.type === 'none' ? null : randomState(nodes, config, random, dtype, empty),
    nodeFeatures: dimNode === 0 ? null : randn([nodes.length, dimNode], { random, dtype }),
    edgeFeatures:
      dimEdge === 0
        ? null
        : Float32Array.from({ length: numEvents * dimEdge }, () => random.nextFloat() - 0.5),
    featureWidth: dimEdge,
  };
}

function makeStream(random: Random): Stream {
  const node = (): number => random.nextInt(numNodes);
  return {
    src: Int32Array.from({ length: numEvents }, node),
    dst: Int32Array.from({ length: numEvents }, node),
    time: Float64Array.from({ length: numEvents }, (_, i) => Math.floor(i / 2) * 1.5),
  };
}

/** The hops of one window; without sampling one hop without edges. */
function sampleHops(
  stream: Stream,
  roots: Rows,
  config: TemporalConfig,
  window: number,
  duration: number,
): TemporalHop[] {
  const { neighbor, prop_time } = config.sampling;
  const hops: TemporalHop[] = [];
  let rows = roots;
  for (const fanout of neighbor.length === 0 ? [0] : neighbor) {
    const hop = sampleHop(stream, rows, Math.min(fanout, 4), prop_time, window, duration);
    hops.push(hop);
    rows = { nodes: hop.srcNodes, times: hop.srcTimes };
  }
  return hops;
}

function sampleHop(
  stream: Stream,
  rows: Rows,
  fanout: number,
  propTime: boolean,
  window: number,
  duration: number,
): TemporalHop {
  const indptr = [0];
  const sources: number[] = [];
  const eventRows: number[] = [];
  const srcNodes = [...rows.nodes];
  const srcTimes = [...rows.times];
  const spans: number[] = [];
  rows.nodes.forEach((node, i) => {
    const until = rows.times[i] - window * duration;
    const from = duration === 0 ? -Infinity : until - duration;
    const past = Array.from(stream.time, (_, e) => e).filter(
      (e) =>
        (stream.src[e] === node || stream.dst[e] === node) &&
        stream.time[e] < until &&
        stream.time[e] >= from,
    );
    for (const e of fanout === 0 ? [] : past.slice(-fanout)) {
      const time = propTime ? rows.times[i] : stream.time[e];
      const other = stream.src[e] === node ? stream.dst[e] : stream.src[e];
      let row = srcNodes.findIndex((n, j) => n === other && srcTimes[j] === time);
      if (row < 0) row = srcNodes.push(other) - 1;
      if (row === srcTimes.length) srcTimes.push(time);
      sources.push(row);
      eventRows.push(e);
      spans.push(rows.times[i] - stream.time[e]);
    }
    indptr.push(sources.length);
  });
  return new TemporalHop({
    dstNodes: rows.nodes,
    dstTimes: rows.times,
    indptr: Int32Array.from(indptr),
    sources: Int32Array.from(sources),
    eventRows: Int32Array.from(eventRows),
    spans: Float32Array.from(spans),
    srcNodes: Int32Array.from(srcNodes),
    srcTimes: Float64Array.from(srcTimes),
  });
}

function randomState(
  nodes: Int32Array,
  config: TemporalConfig,
  random: Random,
  dtype: FloatDType,
  empty: number,
): MailBoxRows {
  const { dim_out: width, mailbox_size: slots } = config.memory;
  const n = nodes.length;
  const mailCount = Int32Array.from({ length: n }, () =>
    random.nextFloat() < empty ? 0 : 1 + random.nextInt(slots),
  );
  const mailEvents = new Int32Array(n * slots).fill(-1);
  const mailTime = new Float64Array(n * slots);
  const memoryTime = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    if (mailCount[i] > 0) memoryTime[i] = random.nextInt(20);
    for (let k = 0; k < mailCount[i]; k++) {
      mailEvents[i * slots + k] = random.nextInt(numEvents - batchEvents);
      mailTime[i * slots + k] = 20 + random.nextInt(18);
    }
  }
  const memory = randn([n, width], { random, dtype });
  const mail = randn([n, slots * 2 * width], { random, dtype });
  return { nodes, memory, memoryTime, mail, mailEvents, mailTime, mailCount };
}
