/**
 * Assertions for cases that run without vitest. Arrays may be plain or typed; a message names the first position that
 * differs, so that a failure in the browser can be read without a debugger.
 */

type Values = ArrayLike<number | bigint>;
type ErrorClass = abstract new (...args: never[]) => Error;

class AssertionFailure extends Error {
  override name = 'AssertionFailure';
}

function fail(what: string, details: string): never {
  throw new AssertionFailure(`${what}: ${details}`);
}

const isValues = (value: unknown): value is Values =>
  Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));

function show(value: unknown): string {
  if (!isValues(value)) return typeof value === 'string' ? JSON.stringify(value) : String(value);
  const head = Array.from(value as ArrayLike<unknown>)
    .slice(0, 12)
    .map(show)
    .join(', ');
  return `[${head}${value.length > 12 ? `, … ${value.length} in all` : ''}]`;
}

/** Fails unless `condition` holds. */
export function ok(condition: boolean, what: string): asserts condition {
  if (!condition) fail(what, 'expected to hold');
}

/** Fails unless values or elements are equal, ignoring the sign of zero and the type of array; NaN equals NaN. */
export function equal(actual: unknown, expected: unknown, what = 'value'): void {
  if (isValues(actual) && isValues(expected)) {
    const at = `got ${show(actual)}, expected ${show(expected)}`;
    if (actual.length !== expected.length)
      fail(what, `length ${actual.length}, expected ${expected.length}; ${at}`);
    for (let i = 0; i < expected.length; i++) equal(actual[i], expected[i], `${what}[${i}]`);
    return;
  }
  if (actual !== expected && !(Number.isNaN(actual) && Number.isNaN(expected))) {
    fail(what, `got ${show(actual)}, expected ${show(expected)}`);
  }
}

/** Fails unless |actual − expected| ≤ absolute + relative·|expected| for a number or all elements. */
export function close(
  actual: number | ArrayLike<number>,
  expected: number | ArrayLike<number>,
  tolerance: { readonly absolute?: number; readonly relative?: number } = {},
  what = 'value',
): void {
  const { absolute = 1e-5, relative = 1e-5 } = tolerance;
  if (typeof actual === 'number' && typeof expected === 'number') {
    const bound = absolute + relative * Math.abs(expected);
    // The comparison is written so that NaN fails.
    if (!(actual === expected || Math.abs(actual - expected) <= bound))
      fail(what, `got ${actual}, expected ${expected} ± ${bound}`);
    return;
  }
  if (typeof actual === 'number' || typeof expected === 'number')
    fail(what, `a number and an array: ${show(actual)}, ${show(expected)}`);
  if (actual.length !== expected.length) fail(what, `length ${actual.length}, expected ${expected.length}`);
  for (let i = 0; i < expected.length; i++) close(actual[i], expected[i], tolerance, `${what}[${i}]`);
}

/**
 * Runs `action` and returns the error it throws or rejects with; fails when it does neither, or when the error is not
 * of `type` or its message does not match `message`.
 */
export async function throws(
  action: () => unknown,
  type: ErrorClass = Error,
  message: RegExp = /(?:)/,
): Promise<Error> {
  let caught: unknown;
  try {
    await action();
  } catch (error) {
    caught = error;
  }
  if (caught === undefined) fail('throws', `expected ${type.name}, nothing was thrown`);
  if (!(caught instanceof type)) fail('throws', `expected ${type.name}, got ${String(caught)}`);
  if (!message.test(caught.message))
    fail('throws', `expected a message like ${message}, got "${caught.message}"`);
  return caught;
}
