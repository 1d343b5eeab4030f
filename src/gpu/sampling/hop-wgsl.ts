/**
 * Common code of the programs of a sampled hop: parameters, and the counts that stay on the device while a batch is
 * drawn.
 *
 * `state` holds the number of rows (nodes) after each hop, and from `edgeState` on the number of edges. So hop h draws
 * for rows state[h − 1] … state[h] − 1 and writes edges from state[edgeState + h] on. A program is dispatched for an
 * upper bound of items, or indirectly for their number, and reads the exact number here.
 */
import { flatIndex } from '../device/program.js';

/** Maximum number of hops in `state`. */
const maxHops = 255;
export const edgeState = maxHops + 1;
/** Words of `state`. */
export const stateWords = 2 * (maxHops + 1);

/** Invocations per workgroup. */
export const groupSize = 256;
/** Items that one workgroup sums. */
export const tileSize = 4 * groupSize;

/** `fanout` of a hop that takes all neighbours. */
export const takeAll = 0xffffffff;

/** Draw modes of a hop: uniform, by running sums of weights, or with edge dropout. */
export const drawModes = { uniform: 0, weighted: 1, dropout: 2 } as const;
export type DrawMode = keyof typeof drawModes;

/** The parameters of a hop in the order of `Params`. */
export interface HopParams {
  readonly hop: number;
  /** `takeAll` or a number of neighbours. */
  readonly fanout: number;
  readonly drop: number;
  readonly replace: boolean;
  readonly mode: DrawMode;
  readonly key: ArrayLike<number>;
  readonly step: number;
  readonly tag: number;
}

/**
 * Returns the parameter words of a program: those of the hop, then the range of an array or hash table that this run
 * covers.
 */
export function hopWords(hop: HopParams, first = 0, count = 0, mask = 0): number[] {
  const { key } = hop;
  return [
    ...[hop.hop, hop.fanout, hop.drop, hop.replace ? 1 : 0],
    ...[key[0], key[1], (hop.tag ^ key[2]) >>> 0, (hop.step ^ key[3]) >>> 0],
    ...[drawModes[hop.mode], first, count, mask],
  ];
}

/** Returns the parameters of programs that draw nothing. */
export function plainHop(hop: number): HopParams {
  const key = [0, 0, 0, 0];
  return { hop, fanout: takeAll, drop: 0, replace: false, mode: 'uniform', key, step: 0, tag: 0 };
}

export const hopParamWords = 12;

export const hopParamsWgsl = /* wgsl */ `
struct Params {
  hop: u32, fanout: u32, drop: u32, replace: u32,
  k0: u32, k1: u32, c2: u32, c3: u32,
  mode: u32, first: u32, count: u32, mask: u32,
}
${flatIndex}
`;

/** WGSL helpers for programs with the binding `state`. */
export const hopStateWgsl = /* wgsl */ `
fn rowBegin() -> u32 {
  if (p.hop == 0u) { return 0u; }
  return state[p.hop - 1u];
}
fn rowEnd() -> u32 { return state[p.hop]; }
fn edgeBegin() -> u32 { return state[${edgeState}u + p.hop]; }
fn edgeEnd() -> u32 { return state[${edgeState + 1}u + p.hop]; }
`;

/** WGSL opening of a `main` with one invocation per item, whose index is `i`. */
export const perItem = /* wgsl */ `
@compute @workgroup_size(${groupSize})
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = flatIndex(id, groups, ${groupSize}u);
`;
