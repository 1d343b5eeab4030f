/**
 * Optimiser steps on the GPU: the formulas of `native/reference/optim.ts`. Values that the host can compute in double
 * (such as 1 − β₂) are parameters. The row forms run the same code on the rows with the given ids.
 */
import type { KernelArguments, Kernels } from '../../../native/index.js';
import type { Compute } from '../compute.js';
import { type TensorProgram, tensorProgram } from '../tensor-program.js';

interface Forms {
  readonly dense: TensorProgram;
  readonly rows: TensorProgram;
}

/**
 * Defines a step for element `i` of the gradient g and element `at` of the parameter w and its state, in both forms.
 */
function forms(name: string, state: readonly string[], params: readonly string[], body: string): Forms {
  const arrays = ['write f32 w', 'read f32 g', ...state.map((array) => `write f32 ${array}`)];
  return {
    dense: tensorProgram({
      name,
      arrays,
      params: ['n u32', ...params],
      body: `let at = i;\n${body}`,
    }),
    rows: tensorProgram({
      name: `${name}Rows`,
      arrays: [...arrays, 'read i32 ids'],
      params: ['n u32', ...params, 'width u32'],
      body: `let at = u32(ids[p.ids_at + i / p.width]) * p.width + i % p.width;\n${body}`,
    }),
  };
}

const sgd = forms(
  'sgdStep',
  ['buffer'],
  ['lr f32', 'momentum f32', 'fresh f32', 'decay f32', 'has_buffer u32', 'nesterov u32', 'first u32'],
  /* wgsl */ `
  let old = w[p.w_at + at];
  var d = g[p.g_at + i] + p.decay * old;
  if (p.has_buffer != 0u) {
    var mixed = d;
    if (p.first == 0u) { mixed = p.momentum * buffer[p.buffer_at + at] + p.fresh * d; }
    buffer[p.buffer_at + at] = mixed;
    d = select(mixed, d + p.momentum * mixed, p.nesterov != 0u);
  }
  w[p.w_at + at] = old - p.lr * d;`,
);

const adagrad = forms(
  'adagradStep',
  ['sum'],
  ['lr f32', 'eps f32', 'decay f32'],
  /* wgsl */ `
  let old = w[p.w_at + at];
  let d = g[p.g_at + i] + p.decay * old;
  let total = sum[p.sum_at + at] + d * d;
  sum[p.sum_at + at] = total;
  w[p.w_at + at] = old - p.lr * d / (sqrt(total) + p.eps);`,
);

const adam = forms(
  'adamStep',
  ['m', 'v'],
  [
    ...['shrink f32', 'decay f32', 'beta1 f32', 'fresh1 f32', 'beta2 f32', 'fresh2 f32'],
    ...['step f32', 'root f32', 'eps f32'],
  ],
  /* wgsl */ `
  let old = w[p.w_at + at] * p.shrink;
  let d = g[p.g_at + i] + p.decay * old;
  let mean = m[p.m_at + at] * p.beta1 + p.fresh1 * d;
  let square = v[p.v_at + at] * p.beta2 + p.fresh2 * d * d;
  m[p.m_at + at] = mean;
  v[p.v_at + at] = square;
  w[p.w_at + at] = old - p.step * mean / (sqrt(square) / p.root + p.eps);`,
);

function adamParams(args: KernelArguments<'adamStep' | 'adamStepRows'>): number[] {
  const { lr, beta1, beta2, eps, weightDecay, decoupled, c1, c2 } = args;
  const [shrink, decay] = decoupled ? [1 - lr * weightDecay, 0] : [1, weightDecay];
  return [shrink, decay, beta1, 1 - beta1, beta2, 1 - beta2, lr / c1, Math.sqrt(c2), eps];
}

export function optimKernels(c: Compute): Partial<Kernels> {
  return {
    sgdStep({ p, g, buffer, n, lr, momentum, dampening, weightDecay, nesterov, first }) {
      const params = [n, lr, momentum, 1 - dampening, weightDecay, buffer !== null, nesterov, first];
      c.launch(sgd.dense, [p, g, buffer], params, n);
    },
    adagradStep: (p, g, sum, n, lr, eps, weightDecay) =>
      c.launch(adagrad.dense, [p, g, sum], [n, lr, eps, weightDecay], n),
    adamStep(args) {
      const { p, g, m, v, n } = args;
      c.launch(adam.dense, [p, g, m, v], [n, ...adamParams(args)], n);
    },
    sgdStepRows({ p, ids, g, buffer, n, width, lr, momentum, weightDecay }) {
      const size = n * width;
      const params = [size, lr, momentum, 1, weightDecay, buffer !== null, false, false, width];
      c.launch(sgd.rows, [p, g, buffer, ids], params, size);
    },
    adagradStepRows({ p, ids, g, sum, n, width, lr, eps, weightDecay }) {
      const size = n * width;
      c.launch(adagrad.rows, [p, g, sum, ids], [size, lr, eps, weightDecay, width], size);
    },
    adamStepRows(args) {
      const { p, ids, g, m, v, n, width } = args;
      const size = n * width;
      c.launch(adam.rows, [p, g, m, v, ids], [size, ...adamParams(args), width], size);
    },
  };
}
