/** The kernel check names kernel, position and both sides wherever C++, the contract, a rule or a twin differ. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';

const script = new URL('../../scripts/check-kernels.mjs', import.meta.url).href;
const { checkKernels } = (await import(script)) as { checkKernels(root: string): string[] };

const made: string[] = [];

/**
 * Three kernels that agree everywhere: over bytes, over floats, and one with so many parameters that it takes a record.
 */
const files = {
  'src/native/kernels.ts': `
export interface Kernels extends OptimKernels {
  /** Rows by id. */
  gatherRows(x: TypedArray, ids: Int32Array, y: TypedArray, n: number, rowBytes: number): void;
}
`,
  'src/native/optim-kernels.ts': `
interface Shape {
  readonly n: number;
  readonly width: number;
}
export interface WideStepArguments extends Shape {
  /** The parameter. */
  readonly p: FloatArray;
  readonly ids: Int32Array | null;
  readonly lr: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly eps: number;
  readonly nesterov: boolean;
}
export interface OptimKernels {
  wideStep(args: WideStepArguments): void;
  scaleStep(p: FloatArray, sum: FloatArray | null, n: number, lr: number, eps: number, first: boolean): number;
}
`,
  'src/native/record-kernels.ts': `
const recordOrder: Readonly<Record<string, string>> = {
  wideStep:
    'p ids n width lr ' +
    'beta1 beta2 eps nesterov',
};
`,
  'src/native/reference/optim.ts': `
export const optimTwins = {
  scaleStep(p, _sum, n, lr) { return p[0] * n * lr; },
} satisfies Partial<Kernels>;
`,
  'native/binding/kernels.def': `
// A comment with KERNEL(name, name, "x").
KERNEL(gatherRows, gather_rows, "x[0] ids[n]<x/rowBytes y[n*rowBytes] "
  "n rowBytes")
FLOAT_KERNEL(scaleStep, scale_step, "p[n] sum?[n] n lr eps first")
FLOAT_KERNEL(wideStep, wide_step, "p[0] ids?[n] n width lr beta1 beta2 eps nesterov")
`,
  'native/kernels/rows/rows.h': `
// Not void gather_rows(int a); as in this comment.
void gather_rows(const void* x, List<const i32> ids, void* y, i64 n,
                 i64 row_bytes);
`,
  'native/kernels/optim/optim.h': `
template <class T>
double scale_step(T* p, const T* sum, i64 n, double lr, double eps, bool first);
template <class T>
void wide_step(T* p, const i32* ids, i64 n, i64 width, double lr, double beta1, double beta2, double eps,
               bool nesterov);
`,
  'native/kernels/optim/optim.cpp': `
template <class T>
double scale_step(T* p, const T* sum, i64 n, double lr, double eps, bool first) {
  return lr;
}
template double scale_step<float>(float*, const float*, i64, double, double, bool);
`,
};

/** Returns the problems of the files above, with `before` replaced by `after` in one of them. */
function check(file?: keyof typeof files, before = '', after = ''): string[] {
  const root = mkdtempSync(join(tmpdir(), 'skein-kernels-'));
  made.push(root);
  for (const [name, text] of Object.entries(files)) {
    if (name === file) expect(text).toContain(before);
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), name === file ? text.replace(before, after) : text);
  }
  return checkKernels(root);
}

afterEach(() => {
  for (const root of made.splice(0)) rmSync(root, { recursive: true });
});

const header = 'native/kernels/optim/optim.h';

test('kernels that agree pass', () => {
  expect(check()).toEqual([]);
});

describe('differences are found', () => {
  test('two numbers that change places in a declaration', () => {
    expect(check(header, 'double lr, double eps', 'double eps, double lr')).toEqual([
      `kernel scaleStep, parameter 4: different names: \`lr: number\` in src/native/optim-kernels.ts:18, \`double eps\` in ${header}:2`,
      `kernel scaleStep, parameter 5: different names: \`eps: number\` in src/native/optim-kernels.ts:18, \`double lr\` in ${header}:2`,
    ]);
  });

  test('two numbers that change places in a definition', () => {
    const [first] = check('native/kernels/optim/optim.cpp', 'double lr, double eps', 'double eps, double lr');
    expect(first).toContain('`double eps` in native/kernels/optim/optim.cpp:2');
  });

  test('two parameters that change places in the contract', () => {
    const problems = check(
      'src/native/kernels.ts',
      'n: number, rowBytes: number',
      'rowBytes: number, n: number',
    );
    expect(problems[0]).toContain('kernel gatherRows, parameter 4: different names: `rowBytes: number`');
    expect(problems).toHaveLength(4);
  });

  test.each([
    ['a number where the contract has a flag', 'bool first', 'double first', '`double first`'],
    ['a flag where the contract has a number', 'double eps', 'bool eps', '`bool eps`'],
    ['ids where the contract has floats', 'const T* sum', 'const i32* sum', '`const i32* sum`'],
  ])('%s', (_, before, after, shown) => {
    const problems = check(header, before, after);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain('different kinds');
    expect(problems[0]).toContain(shown);
  });

  test('a parameter that is missing in C++', () => {
    expect(check(header, ', bool first', '')).toEqual([
      'kernel scaleStep, parameter 6: different number of parameters: `first: boolean` in ' +
        `src/native/optim-kernels.ts:18, nothing in ${header}:2`,
    ]);
  });

  test('a parameter that is missing in the contract', () => {
    const problems = check('src/native/optim-kernels.ts', ', first: boolean', '');
    expect(problems).toHaveLength(3);
    expect(problems[0]).toContain('parameter 6: different number of parameters: nothing in');
  });

  test('a rule that allows null where the contract does not', () => {
    const problems = check('native/binding/kernels.def', 'ids[n]', 'ids?[n]');
    expect(problems).toEqual([expect.stringContaining('parameter 2: different nullability')]);
  });

  test('a rule in another order', () => {
    expect(check('native/binding/kernels.def', 'lr eps', 'eps lr')).toHaveLength(2);
  });

  test('a twin in another order', () => {
    const [problem] = check('src/native/reference/optim.ts', 'n, lr', 'lr, n');
    expect(problem).toContain(
      '`n: number` in src/native/optim-kernels.ts:18, `lr` in src/native/reference/optim.ts:3',
    );
  });

  test('a result that only one side has, and a template mismatch', () => {
    expect(check(header, 'double scale_step', 'void scale_step')[0]).toContain('different results');
    expect(check(header, 'template <class T>', '')[0]).toContain('is not a template');
  });

  test('a record in another order than C++', () => {
    const problems = check('src/native/record-kernels.ts', 'beta1 beta2', 'beta2 beta1');
    expect(problems).toHaveLength(4);
    expect(problems[0]).toContain('kernel wideStep, parameter 6: different names: `beta2: number`');
  });

  test('a field of a record that C++ has in another kind, or not at all', () => {
    const contract = 'src/native/optim-kernels.ts';
    expect(check(contract, 'nesterov: boolean', 'nesterov: number')).toEqual([
      expect.stringContaining('parameter 9: different kinds: `nesterov: number`'),
    ]);
    expect(check(contract, 'readonly eps: number;', 'readonly eps: number; readonly more: number;')).toEqual([
      expect.stringContaining('takes a record with more, which src/native/record-kernels.ts does not list'),
    ]);
    expect(check(contract, 'readonly width: number;', '')[0]).toContain('`width: no such field`');
  });

  test('more than 8 positions, and a record for fewer', () => {
    const many =
      'p: FloatArray, ids: Int32Array | null, n: number, width: number, lr: number, beta1: number, ';
    const positions = `wideStep(${many} beta2: number, eps: number, nesterov: boolean)`;
    expect(check('src/native/optim-kernels.ts', 'wideStep(args: WideStepArguments)', positions)).toEqual([
      expect.stringContaining('takes 9 parameters as positions. Use a record above 8'),
    ]);
    const [problem] = check('src/native/record-kernels.ts', "'beta1 beta2 eps nesterov'", "'beta1'");
    expect(problem).toContain('takes a record with beta2, which');
  });

  test('kernels that only one side has', () => {
    expect(check('native/binding/kernels.def', 'FLOAT_KERNEL(scaleStep,', 'FLOAT_KERNEL(other,')).toEqual([
      expect.stringContaining('has no entry in native/binding/kernels.def'),
      expect.stringContaining('kernel other: '),
    ]);
    const [problem] = check('native/kernels/rows/rows.h', 'void gather_rows(const', 'void get_rows(const');
    expect(problem).toContain('no declaration of gather_rows');
  });
});
