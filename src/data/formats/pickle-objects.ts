/**
 * The Python objects in pickled datasets, rebuilt as data. No Python name is ever looked up or executed: a global is one of
 * the names below or the pickle is rejected.
 *
 * Supported: NumPy arrays and scalars, scipy CSR matrices, defaultdict, the layout of PyTorch tensors, and the helpers with
 * which old protocols write them (copyreg._reconstructor, _codecs.encode). Lists and tuples become arrays, dictionaries Maps.
 */

import {
  decodeNumpyArray,
  type NumpyArray,
  type NumpyType,
  parseNumpyType,
} from '../../tensor/numpy-array.js';
import { FormatError } from '../../util/errors.js';

export type PickleValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | PickleValue[]
  | Map<PickleValue, PickleValue>
  | PickleGlobal
  | PickleDType
  | PickleArray
  | PickleCsr
  | PickleTensor;

type GlobalKind =
  | 'reconstruct'
  | 'buffer'
  | 'scalar'
  | 'ndarray'
  | 'dtype'
  | 'csr'
  | 'defaultdict'
  | 'encode'
  | 'rebuild'
  | 'tensor'
  | 'storage'
  | 'type';

/** Names as `module name`, in Python 2 and 3 and in old and new NumPy and scipy. */
const globals: ReadonlyMap<string, GlobalKind> = new Map<string, GlobalKind>([
  ['numpy.core.multiarray _reconstruct', 'reconstruct'],
  ['numpy._core.multiarray _reconstruct', 'reconstruct'],
  ['numpy.core.numeric _frombuffer', 'buffer'],
  ['numpy._core.numeric _frombuffer', 'buffer'],
  ['numpy.core.multiarray scalar', 'scalar'],
  ['numpy._core.multiarray scalar', 'scalar'],
  ['numpy ndarray', 'ndarray'],
  ['numpy dtype', 'dtype'],
  ['scipy.sparse.csr csr_matrix', 'csr'],
  ['scipy.sparse._csr csr_matrix', 'csr'],
  ['scipy.sparse._csr csr_array', 'csr'],
  ['collections defaultdict', 'defaultdict'],
  ['collections OrderedDict', 'defaultdict'],
  ['torch._utils _rebuild_tensor_v2', 'tensor'],
  ...['Float', 'Double', 'Half', 'BFloat16', 'Long', 'Int', 'Short', 'Char', 'Byte', 'Bool'].map(
    (type) => [`torch ${type}Storage`, 'storage'] as const,
  ),
  ['_codecs encode', 'encode'],
  ['copy_reg _reconstructor', 'rebuild'],
  ['copyreg _reconstructor', 'rebuild'],
  ['__builtin__ object', 'type'],
  ['builtins object', 'type'],
  ['__builtin__ list', 'type'],
  ['builtins list', 'type'],
  ['__builtin__ int', 'type'],
  ['builtins int', 'type'],
]);

/** A name from the list above, as data. */
export class PickleGlobal {
  constructor(
    readonly name: string,
    readonly kind: GlobalKind,
  ) {}
}

export class PickleDType {
  littleEndian = true;

  constructor(readonly name: string) {}

  /** Returns null if elements of this type are not supported. */
  numpyType(): NumpyType | null {
    return parseNumpyType(`${this.littleEndian ? '<' : '>'}${this.name.replace(/^[<>|=]/, '')}`);
  }
}

/** An array whose content is set by BUILD. */
export class PickleArray {
  value: NumpyArray | null = null;
}

/** A scipy CSR matrix whose fields are set by BUILD. */
export class PickleCsr {
  readonly fields = new Map<string, PickleValue>();

  /** Returns an array field by name; null if it is absent or not an array. */
  array(name: string): NumpyArray | null {
    const field = this.fields.get(name);
    return field instanceof PickleArray ? field.value : null;
  }

  /** Rows and columns; null unless they are two whole numbers. */
  get shape(): readonly [number, number] | null {
    const shape = this.fields.get('_shape') ?? this.fields.get('shape');
    if (!Array.isArray(shape) || shape.length !== 2) return null;
    const [rows, columns] = shape;
    return isCount(rows) && isCount(columns) ? [rows, columns] : null;
  }
}

/** A PyTorch tensor without its elements: their location in the file, and their layout. */
export class PickleTensor {
  constructor(
    /** Such as `torch.FloatStorage`. */
    readonly storage: string,
    readonly key: string,
    readonly offset: number,
    readonly shape: readonly number[],
    readonly strides: readonly number[],
  ) {}
}

/** Throws an error; the caller adds file, opcode and offset. */
export type Reject = (what: string) => never;

export function findGlobal(module: string, name: string, reject: Reject): PickleGlobal {
  const kind = globals.get(`${module} ${name}`);
  if (kind === undefined) {
    reject(`expected arrays, matrices and dictionaries only, got the Python name ${module}.${name}`);
  }
  return new PickleGlobal(`${module}.${name}`, kind as GlobalKind);
}

/** Returns the result of calling `callee` with `args` (REDUCE). */
export function callGlobal(
  callee: PickleValue,
  args: PickleValue,
  where: string,
  reject: Reject,
): PickleValue {
  if (!(callee instanceof PickleGlobal) || !Array.isArray(args))
    return reject('expected a known name to call');
  switch (callee.kind) {
    case 'reconstruct':
      return new PickleArray();
    case 'buffer':
      return arrayOfBuffer(args, where, reject);
    case 'dtype':
      if (typeof args[0] !== 'string') return reject('expected a type name for a NumPy dtype');
      return new PickleDType(args[0]);
    case 'scalar':
      return makeScalar(args, where, reject);
    case 'defaultdict':
      return new Map();
    case 'encode':
      if (typeof args[0] !== 'string' || typeof args[1] !== 'string' || !/^latin-?1$/.test(args[1]))
        return reject('expected text in latin1 for _codecs.encode');
      return Uint8Array.from(Buffer.from(args[0], 'latin1'));
    case 'rebuild':
      return newObject(args[0], reject);
    case 'tensor':
      return makeTensor(args, reject);
    default:
      return reject(`expected a known function to call, got ${callee.name}`);
  }
}

/** Returns an empty object of a class (NEWOBJ). */
export function newObject(type: PickleValue, reject: Reject): PickleValue {
  if (type instanceof PickleGlobal && type.kind === 'csr') return new PickleCsr();
  return reject('expected a scipy CSR matrix for a new object');
}

/** Sets the content of an object (BUILD). */
export function buildObject(target: PickleValue, state: PickleValue, where: string, reject: Reject): void {
  if (target instanceof PickleDType && Array.isArray(state)) {
    target.littleEndian = state[1] !== '>';
  } else if (target instanceof PickleCsr && state instanceof Map) {
    for (const [name, value] of state) {
      if (typeof name !== 'string') reject('expected names for the fields of a matrix');
      target.fields.set(name, value);
    }
  } else if (target instanceof PickleArray && Array.isArray(state)) {
    buildArray(target, state, where, reject);
  } else {
    reject('expected the state of an array, a dtype or a matrix');
  }
}

/** Sets the content of an array from its state: version, shape, dtype, whether Fortran order, bytes. */
function buildArray(target: PickleArray, state: PickleValue[], where: string, reject: Reject): void {
  const [, shape, dtype, fortran, content] = state;
  if (!Array.isArray(shape) || !shape.every(isCount) || !(dtype instanceof PickleDType)) {
    reject('expected a shape and a dtype in the state of an array');
  }
  target.value = makeArray(dtype, shape, content, fortran === true || fortran === 1, where, reject);
}

function makeArray(
  dtype: PickleDType,
  shape: readonly number[],
  content: PickleValue,
  fortran: boolean,
  where: string,
  reject: Reject,
): NumpyArray {
  const type = dtype.numpyType();
  if (type === null)
    return reject(`expected numbers or text in an array, got elements of type ${dtype.name.slice(0, 40)}`);
  // Python 2 writes the bytes as a string.
  const bytes = typeof content === 'string' ? Buffer.from(content, 'latin1') : content;
  if (!(bytes instanceof Uint8Array)) return reject('expected bytes as the content of an array');
  try {
    return decodeNumpyArray(where, type, shape, bytes, fortran);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    // Rethrown, so that the message also has the position.
    return reject(error.message.slice(where.length + 2).replace(/\.$/, ''));
  }
}

/** Arguments of protocol 5: bytes, dtype, shape, and C or F for the order. */
function arrayOfBuffer(args: readonly PickleValue[], where: string, reject: Reject): PickleArray {
  const [content, dtype, shape, order] = args;
  if (!Array.isArray(shape) || !shape.every(isCount) || !(dtype instanceof PickleDType))
    return reject('expected a dtype and a shape for the buffer of an array');
  const array = new PickleArray();
  array.value = makeArray(dtype, shape, content, order === 'F', where, reject);
  return array;
}

function makeScalar(args: readonly PickleValue[], where: string, reject: Reject): PickleValue {
  const [dtype, content] = args;
  if (!(dtype instanceof PickleDType)) return reject('expected a dtype for a NumPy scalar');
  return makeArray(dtype, [], content, false, where, reject).data[0];
}

/** Arguments: ('storage', storage class, key, device, length), offset, shape, strides, then those for gradients. */
function makeTensor(args: readonly PickleValue[], reject: Reject): PickleTensor {
  const [location, offset, shape, strides] = args;
  const [, storage, key] = Array.isArray(location) ? location : [];
  if (!(storage instanceof PickleGlobal) || storage.kind !== 'storage' || typeof key !== 'string')
    return reject('expected the storage of a tensor');
  if (!Array.isArray(shape) || !shape.every(isCount) || !Array.isArray(strides) || !strides.every(isCount))
    return reject('expected shape and strides of a tensor');
  if (!isCount(offset) || shape.length !== strides.length)
    return reject('expected an offset and a stride for every axis of a tensor');
  return new PickleTensor(storage.name, key, offset, shape, strides);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
