/**
 * Loads named values into the tensors of a module; all are checked before any is written.
 */
import { kernels } from '../native/index.js';
import { type DType, dtypes } from '../tensor/dtype.js';
import { fromTypedArray, Tensor } from '../tensor/index.js';
import { writeValues } from '../tensor/move.js';
import { unscoped } from '../tensor/scope.js';
import { formatShape, sameShape } from '../tensor/shape.js';
import { ShapeError, StateError } from '../util/errors.js';

export interface LoadOptions {
  /** Throw for missing and unexpected names (the default). */
  readonly strict?: boolean;
}

export interface LoadResult {
  /** Names of the module that the state lacks. */
  readonly missing: readonly string[];
  /** Names of the state that the module lacks. */
  readonly unexpected: readonly string[];
}

const listed = 12;

/**
 * Copies `state` into `owned`, which lists a shared tensor under each of its names, one of which must be in `state`.
 */
export function loadNamed(
  where: string,
  owned: readonly (readonly [string, Tensor])[],
  state: Readonly<Record<string, Tensor>>,
  options: LoadOptions,
): LoadResult {
  const names = new Set(owned.map(([name]) => name));
  const sources = new Map<Tensor, Tensor>();
  const firstName = new Map<Tensor, string>();
  for (const [name, target] of owned) {
    if (!firstName.has(target)) firstName.set(target, name);
    if (Object.hasOwn(state, name) && !sources.has(target)) sources.set(target, state[name]);
  }
  const missing = [...firstName].filter(([target]) => !sources.has(target)).map(([, name]) => name);
  const unexpected = Object.keys(state).filter((name) => !names.has(name));
  const unfit = [...sources].flatMap(([target, source]) =>
    misfit(firstName.get(target) as string, target, source),
  );
  if (unfit.length > 0 || (options.strict !== false && missing.length + unexpected.length > 0)) {
    const parts = [
      listNames('missing', missing),
      listNames('unexpected', unexpected),
      listNames('of another shape', unfit),
    ];
    const error = unfit.length > 0 ? ShapeError : StateError;
    throw new error(
      `${where}.loadStateDict: expected a state with the names and shapes of this module, got one that differs. ` +
        `${parts.filter((part) => part !== '').join(' ')}${unfit.length === 0 ? ' Pass { strict: false } to allow this.' : ''}`,
      { missing, unexpected, unfit },
    );
  }
  // Read all before writing any: a source may be disposed, or share memory with another target.
  const copies = [...sources].map(([target, source]) => [target, unscoped(() => copyOf(source))] as const);
  for (const [target, copy] of copies) {
    copyValues(copy, target);
    copy.dispose();
  }
  return { missing, unexpected };
}

function copyOf(source: Tensor): Tensor {
  if (source.device !== null) return source.detach().clone();
  return fromTypedArray(source.dataSync().slice(), source.shape, { dtype: source.dtype });
}

function misfit(name: string, target: Tensor, source: unknown): string[] {
  const wanted = `${formatShape(target.shape)} ${target.dtype}`;
  if (!(source instanceof Tensor)) return [`${name} (expected ${wanted}, got a value that is not a tensor)`];
  if (sameShape(source.shape, target.shape) && converts(source.dtype, target.dtype)) return [];
  return [`${name} (expected ${wanted}, got ${formatShape(source.shape)} ${source.dtype})`];
}

function converts(from: DType, to: DType): boolean {
  const float = (dtype: DType): boolean => dtype !== 'i32' && dtype !== 'u8';
  return from === to || (float(from) && float(to));
}

/** Copies the values of one tensor to another of the same shape, converting floats. */
export function copyValues(source: Tensor, target: Tensor): void {
  if (source.dtype === target.dtype) {
    writeValues(source, target);
    return;
  }
  const values = source.dataSync();
  kernels().cast(values, dtypes[source.dtype].code, target.array, dtypes[target.dtype].code, target.size);
  target.storage.version++;
}

function listNames(label: string, names: readonly string[]): string {
  if (names.length === 0) return '';
  const rest = names.length > listed ? `, … (${names.length} in all)` : '';
  return `${label[0].toUpperCase()}${label.slice(1)}: ${names.slice(0, listed).join(', ')}${rest}.`;
}
