/**
 * Programs over the rows of a matrix, where 1, 32 or 256 invocations share a row, by its length.
 *
 * The body runs for all lanes of a row together. It has `row`, `lane`, `lanes`, `cols` (0 for lanes beyond the last
 * row, so that loops are empty there) and `isFirst` (the lane that writes per-row results). `sumLanes(v, t)` and
 * `maxLanes(v, t)` return the same total to every lane, combined in a fixed order; they must not be called within loops
 * or branches.
 */
import { grid } from '../device/program.js';
import type { Argument, Compute } from './compute.js';
import { type TensorProgram, tensorProgram } from './tensor-program.js';

interface RowText {
  readonly name: string;
  readonly arrays: readonly string[];
  /** Parameters after `rows u32` and `cols u32`. */
  readonly params?: readonly string[];
  readonly helpers?: string;
  readonly body: string;
}

export interface RowProgram {
  readonly forms: readonly { readonly lanes: number; readonly program: TensorProgram }[];
}

/** Lanes per row, and the longest row for which they are used. */
const laneChoices = [
  [1, 24],
  [32, 1024],
  [256, Number.POSITIVE_INFINITY],
] as const;
const threads = 256;

export function rowProgram(text: RowText): RowProgram {
  return { forms: laneChoices.map(([lanes]) => ({ lanes, program: formOf(text, lanes) })) };
}

function formOf(text: RowText, lanes: number): TensorProgram {
  return tensorProgram({
    name: `${text.name}.${lanes}`,
    arrays: text.arrays,
    params: ['rows u32', 'cols u32', ...(text.params ?? [])],
    workgroup: threads,
    helpers: `${text.helpers ?? ''}${lanes === 1 ? alone : together(lanes)}`,
    main: /* wgsl */ `
@compute @workgroup_size(${threads})
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) t: u32,
) {
  let lanes = ${lanes}u;
  let row = (group.y * groups.x + group.x) * ${threads / lanes}u + t / lanes;
  let lane = t % lanes;
  let cols = select(0u, p.cols, row < p.rows);
  let isFirst = row < p.rows && lane == 0u;
  ${text.body}
}`,
  });
}

const alone = /* wgsl */ `
fn sumLanes(v: f32, t: u32) -> f32 { return v; }
fn maxLanes(v: f32, t: u32) -> f32 { return v; }
`;

function together(lanes: number): string {
  const tree = (name: string, join: string): string => /* wgsl */ `
fn ${name}(v: f32, t: u32) -> f32 {
  shared_lanes[t] = v;
  workgroupBarrier();
  for (var half = ${lanes / 2}u; half > 0u; half /= 2u) {
    if (t % ${lanes}u < half) { shared_lanes[t] = ${join}; }
    workgroupBarrier();
  }
  let total = shared_lanes[t - t % ${lanes}u];
  workgroupBarrier();
  return total;
}`;
  return [
    `var<workgroup> shared_lanes: array<f32, ${threads}>;`,
    tree('sumLanes', 'shared_lanes[t] + shared_lanes[t + half]'),
    tree('maxLanes', 'max(shared_lanes[t], shared_lanes[t + half])'),
  ].join('\n');
}

export function launchRows(
  c: Compute,
  { forms }: RowProgram,
  arrays: readonly Argument[],
  rows: number,
  cols: number,
  params: readonly (number | boolean)[] = [],
): void {
  if (rows === 0) return;
  const { lanes, program } = forms[laneChoices.findIndex(([, longest]) => cols <= longest)];
  c.launch(program, arrays, [rows, cols, ...params], { groups: grid(rows * lanes, threads) });
}
