/**
 * R-MAT graphs (Chakrabarti, Zhan, Faloutsos, SDM 2004): each edge falls through the quadrants of the adjacency matrix,
 * which gives the skewed degrees of real networks. Multi-edges and self loops occur and stay.
 *
 * One random word draws five levels by the alias method (Walker 1977): ten bits choose a column of the table, 22 bits decide
 * within it, so probabilities are exact to 2^-32. Edge e uses words e·k … e·k + k − 1 of the key's sequence, independently
 * of other edges.
 */
import type { Graph } from '../graph/index.js';
import { kernels } from '../native/index.js';
import { checkInteger, checkNumber, expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { Random } from '../util/philox.js';
import { toGraph } from './edge-collector.js';
import type { EdgeArrays } from './edges.js';

export interface RmatOptions {
  readonly numEdges: number;
  /** Probabilities of the upper left, upper right and lower left quadrant; the lower right has the rest. Default .57 .19 .19. */
  readonly a?: number;
  readonly b?: number;
  readonly c?: number;
  /** Number the nodes at random; otherwise small numbers have large degrees. Default false. */
  readonly shuffle?: boolean;
  readonly seed?: number;
}

const levelsPerWord = 5;
const edgesPerBlock = 1 << 16;

/** Draws an R-MAT graph. If the number of nodes is not a power of two, ids of the next power are scaled down. */
export function rmat(numNodes: number, options: RmatOptions): Graph {
  checkOptionNames('rmat', options, { numEdges: true, a: true, b: true, c: true, shuffle: true, seed: true });
  return toGraph(rmatEdges(numNodes, options));
}

/** Draws the edges of an R-MAT graph as two arrays. */
export function rmatEdges(numNodes: number, options: RmatOptions): EdgeArrays {
  checkOptionNames('rmatEdges', options, {
    numEdges: true,
    a: true,
    b: true,
    c: true,
    shuffle: true,
    seed: true,
  });
  checkInteger('rmat', 'numNodes', numNodes, 1, 2 ** 30);
  const numEdges = checkInteger('rmat', 'numEdges', options.numEdges, 0, 2 ** 31 - 1);
  const chances = quadrants(options);
  const levels = Math.ceil(Math.log2(numNodes));
  const full = aliasTable(chances, levelsPerWord);
  const rest = aliasTable(chances, levels % levelsPerWord);
  const tables = Array.from({ length: Math.ceil(levels / levelsPerWord) }, (_, i) =>
    (i + 1) * levelsPerWord <= levels ? full : rest,
  );
  const random = new Random(options.seed ?? 0);
  const src = new Int32Array(numEdges);
  const dst = new Int32Array(numEdges);
  const words = new Uint32Array(edgesPerBlock * Math.max(1, tables.length));
  for (let start = 0; start < numEdges; start += edgesPerBlock) {
    const count = Math.min(edgesPerBlock, numEdges - start);
    kernels().randomBits(words, count * tables.length, random.key, start * tables.length);
    fillEdges(src, dst, start, count, words, tables);
  }
  if (numNodes !== 2 ** levels) {
    const scale = numNodes / 2 ** levels;
    for (const ids of [src, dst]) for (let i = 0; i < numEdges; i++) ids[i] = Math.floor(ids[i] * scale);
  }
  if (options.shuffle === true) {
    const order = new Int32Array(numNodes);
    kernels().randomPermutation(order, numNodes, random.split(1).key);
    for (const ids of [src, dst]) for (let i = 0; i < numEdges; i++) ids[i] = order[ids[i]];
  }
  return { numNodes, src, dst };
}

function quadrants(options: RmatOptions): readonly number[] {
  const [a, b, c] = [options.a ?? 0.57, options.b ?? 0.19, options.c ?? 0.19];
  checkNumber('rmat', 'a', a, 0, 1);
  checkNumber('rmat', 'b', b, 0, 1);
  checkNumber('rmat', 'c', c, 0, 1);
  const d = 1 - a - b - c;
  if (d < -1e-9) throw new ValueError(expected('rmat', 'a sum of at most 1', 'a + b + c', a + b + c));
  return [a, b, c, Math.max(0, d)];
}

/** Distribution over outcomes of `levels` levels: `levels` bits of the source, then as many of the destination. */
interface AliasTable {
  readonly levels: number;
  /** Below this (of 2^(32 − 2·levels)) the outcome is the column; otherwise its alias. */
  readonly threshold: Uint32Array;
  readonly alias: Uint16Array;
}

function aliasTable(chances: readonly number[], levels: number): AliasTable {
  const size = 4 ** levels;
  const weight = Float64Array.from({ length: size }, (_, outcome) => {
    let p = size;
    for (let level = 0; level < levels; level++) {
      const row = (outcome >> (levels + level)) & 1;
      const column = (outcome >> level) & 1;
      p *= chances[2 * row + column];
    }
    return p;
  });
  const alias = Uint16Array.from({ length: size }, (_, i) => i);
  const resolution = 2 ** (32 - 2 * levels);
  const threshold = new Uint32Array(size).fill(Math.min(resolution, 2 ** 32 - 1));
  const small: number[] = [];
  const large: number[] = [];
  for (let i = 0; i < size; i++) (weight[i] < 1 ? small : large).push(i);
  while (small.length > 0 && large.length > 0) {
    const low = small.pop() as number;
    const high = large[large.length - 1];
    threshold[low] = Math.round(weight[low] * resolution);
    alias[low] = high;
    weight[high] -= 1 - weight[low];
    if (weight[high] < 1) small.push(large.pop() as number);
  }
  return { levels, threshold, alias };
}

function fillEdges(
  src: Int32Array,
  dst: Int32Array,
  start: number,
  count: number,
  words: Uint32Array,
  tables: readonly AliasTable[],
): void {
  const k = tables.length;
  // One pass per table, so that the inner loop needs no lookup.
  for (let t = 0; t < k; t++) {
    const { levels, threshold, alias } = tables[t];
    const shift = 32 - 2 * levels;
    const fraction = 2 ** shift - 1;
    const low = (1 << levels) - 1;
    for (let i = 0; i < count; i++) {
      const word = words[i * k + t];
      const column = word >>> shift;
      const outcome = (word & fraction) < threshold[column] ? column : alias[column];
      src[start + i] = (src[start + i] << levels) | (outcome >> levels);
      dst[start + i] = (dst[start + i] << levels) | (outcome & low);
    }
  }
}
