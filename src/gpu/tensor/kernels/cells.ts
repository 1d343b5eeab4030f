/**
 * Recurrent cells: the formulas of `native/reference/cells.ts`. The time encoding is missing: it needs its angles in
 * double, which WGSL does not have.
 */
import type { Kernels } from '../../../native/index.js';
import type { Compute } from '../compute.js';
import { tensorProgram } from '../tensor-program.js';

const curves = /* wgsl */ `
fn sigmoidOf(x: f32) -> f32 {
  let e = exp(-abs(x));
  return select(e, 1.0, x >= 0.0) / (1.0 + e);
}
// tanh overflows for large arguments on some drivers.
fn tanhOf(x: f32) -> f32 { return tanh(clamp(x, -15.0, 15.0)); }
`;

const gruCell = tensorProgram({
  name: 'gruCell',
  arrays: ['read f32 gi', 'read f32 gh', 'read f32 h', 'write f32 out', 'write f32 gates'],
  params: ['n u32', 'hidden u32'],
  helpers: curves,
  body: /* wgsl */ `
  let row = i / p.hidden;
  let column = i % p.hidden;
  let wide = 3u * row * p.hidden + column;
  let fresh = wide + 2u * p.hidden;
  let r = sigmoidOf(gi[p.gi_at + wide] + gh[p.gh_at + wide]);
  let z = sigmoidOf(gi[p.gi_at + wide + p.hidden] + gh[p.gh_at + wide + p.hidden]);
  let n = tanhOf(gi[p.gi_at + fresh] + r * gh[p.gh_at + fresh]);
  let kept = p.gates_at + 4u * row * p.hidden + column;
  gates[kept] = r;
  gates[kept + p.hidden] = z;
  gates[kept + 2u * p.hidden] = n;
  gates[kept + 3u * p.hidden] = gh[p.gh_at + fresh];
  out[p.out_at + i] = n + z * (h[p.h_at + i] - n);`,
});

const gruCellBackward = tensorProgram({
  name: 'gruCellBackward',
  arrays: [
    ...['read f32 g', 'read f32 h', 'read f32 gates'],
    ...['write f32 dgi', 'write f32 dgh', 'write f32 dh'],
  ],
  params: ['n u32', 'hidden u32', 'wants_state u32'],
  body: /* wgsl */ `
  let row = i / p.hidden;
  let column = i % p.hidden;
  let kept = p.gates_at + 4u * row * p.hidden + column;
  let r = gates[kept];
  let z = gates[kept + p.hidden];
  let n = gates[kept + 2u * p.hidden];
  let up = g[p.g_at + i];
  let dn = up * (1.0 - z) * (1.0 - n * n);
  let dr = dn * gates[kept + 3u * p.hidden] * r * (1.0 - r);
  let dz = up * (h[p.h_at + i] - n) * z * (1.0 - z);
  let wide = 3u * row * p.hidden + column;
  dgi[p.dgi_at + wide] = dr;
  dgi[p.dgi_at + wide + p.hidden] = dz;
  dgi[p.dgi_at + wide + 2u * p.hidden] = dn;
  dgh[p.dgh_at + wide] = dr;
  dgh[p.dgh_at + wide + p.hidden] = dz;
  dgh[p.dgh_at + wide + 2u * p.hidden] = dn * r;
  if (p.wants_state != 0u) { dh[p.dh_at + i] = up * z; }`,
});

const rnnCell = tensorProgram({
  name: 'rnnCell',
  arrays: ['read f32 gi', 'read f32 gh', 'write f32 out'],
  params: ['n u32', 'relu u32'],
  helpers: curves,
  body: /* wgsl */ `
  let sum = gi[p.gi_at + i] + gh[p.gh_at + i];
  if (p.relu != 0u) { out[p.out_at + i] = select(sum, 0.0, sum < 0.0); } else { out[p.out_at + i] = tanhOf(sum); }`,
});

const rnnCellBackward = tensorProgram({
  name: 'rnnCellBackward',
  arrays: ['read f32 up', 'read f32 out', 'write f32 g'],
  params: ['n u32', 'relu u32'],
  body: /* wgsl */ `
  let value = out[p.out_at + i];
  let slope = select(1.0 - value * value, select(0.0, 1.0, value > 0.0), p.relu != 0u);
  g[p.g_at + i] = up[p.up_at + i] * slope;`,
});

export function cellKernels(c: Compute): Partial<Kernels> {
  return {
    gruCell(gi, gh, h, out, gates, batch, hidden) {
      const n = batch * hidden;
      c.launch(gruCell, [gi, gh, h, out, gates], [n, hidden], n);
    },
    gruCellBackward(gout, h, gates, dgi, dgh, dh, batch, hidden) {
      const n = batch * hidden;
      c.launch(gruCellBackward, [gout, h, gates, dgi, dgh, dh], [n, hidden, dh !== null], n);
    },
    rnnCell: (gi, gh, out, n, relu) => c.launch(rnnCell, [gi, gh, out], [n, relu], n),
    rnnCellBackward: (gout, out, g, n, relu) => c.launch(rnnCellBackward, [gout, out, g], [n, relu], n),
  };
}
