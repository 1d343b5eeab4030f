/**
 * One tensor from a file written by `torch.save` (PyTorch 1.6 and later): a zip archive with a pickle that describes the
 * layout of the tensor in a storage, and the storage as raw elements. The pickle is read as data; nothing is executed.
 *
 * Not supported: files of older versions, several tensors (state dicts), complex or quantised elements.
 */
import { readWholeFile } from '../../storage/atomic-file.js';
import {
  decodeNumpyArray,
  type NumpyArray,
  numpyTypeBytes,
  parseNumpyType,
} from '../../tensor/numpy-array.js';
import { FormatError } from '../../util/errors.js';
import { parsePickle } from './pickle.js';
import { PickleTensor } from './pickle-objects.js';
import { readZip } from './zip.js';

/** NumPy's type of the elements of a storage; bfloat16 elements are the upper halves of f32. */
const types: Readonly<Record<string, string>> = {
  ...{ Float: 'f4', Double: 'f8', Half: 'f2', BFloat16: 'u2', Long: 'i8', Int: 'i4', Short: 'i2' },
  ...{ Char: 'i1', Byte: 'u1', Bool: 'b1' },
};

const advice =
  "Save a single tensor with torch.save, or numpy.save('features.npy', tensor.float().numpy()) in Python.";

/** Reads the tensor of a .pt file, in C order. */
export async function readTorch(path: string): Promise<NumpyArray> {
  const bytes = await readWholeFile(path);
  const fail = (what: string, got: string): never => {
    throw new FormatError(`${path}: expected ${what}, got ${got}. ${advice}`, { path });
  };
  if (bytes[0] !== 0x50 || bytes[1] !== 0x4b) fail('a zip archive of PyTorch 1.6 or later', 'other content');
  const members = readZip(bytes, path);
  const pickle = members.find((member) => /(^|\/)data\.pkl$/.test(member.name));
  if (pickle === undefined) return fail('a member data.pkl', 'another kind of archive');
  const tensor = parsePickle(pickle.read(), `${path}:${pickle.name}`);
  if (!(tensor instanceof PickleTensor)) return fail('one tensor', 'another object');
  const folder = pickle.name.slice(0, -'data.pkl'.length);
  const content = members.find((member) => member.name === `${folder}data/${tensor.key}`)?.read();
  if (content === undefined) return fail(`a member data/${tensor.key}`, 'none');
  const order = members.find((member) => member.name === `${folder}byteorder`)?.read();
  const big = order !== undefined && Buffer.from(order).toString('latin1') === 'big';
  const name = tensor.storage.replace(/^torch\.(.*)Storage$/, '$1');
  const type = parseNumpyType(`${big ? '>' : '<'}${types[name]}`);
  if (type === null) return fail('a storage of numbers', tensor.storage);
  const length = Math.floor(content.length / numpyTypeBytes(type));
  const last = tensor.shape.reduce((at, side, axis) => at + (side - 1) * tensor.strides[axis], tensor.offset);
  const count = tensor.shape.reduce((product, side) => product * side, 1);
  // With strides of zero a few bytes could describe any number of elements.
  if (count > 0 && (last >= length || count > length))
    fail(`${Math.max(last + 1, count)} elements in data/${tensor.key}`, `${length}`);
  const flat = decodeNumpyArray(
    path,
    type,
    [length],
    content.subarray(0, length * numpyTypeBytes(type)),
    false,
  );
  const values = gatherElements(flat.data as Float64Array, tensor, count);
  const { shape } = tensor;
  return name === 'BFloat16'
    ? { dtype: 'bf16', shape, data: widen(values) }
    : { dtype: flat.dtype, shape, data: values };
}

/** Returns the elements of a strided tensor in C order. */
function gatherElements<A extends Float64Array>(data: A, tensor: PickleTensor, count: number): A {
  const { shape, strides, offset } = tensor;
  const plain = strides.every(
    (stride, axis) => shape[axis] <= 1 || stride === shape.slice(axis + 1).reduce((n, side) => n * side, 1),
  );
  if (plain) return data.slice(offset, offset + count) as A;
  const out = data.slice(0, count) as A;
  const position = shape.map(() => 0);
  let at = offset;
  for (let i = 0; i < count; i++) {
    out[i] = data[at];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      at += strides[axis];
      if (++position[axis] < shape[axis]) break;
      at -= strides[axis] * shape[axis];
      position[axis] = 0;
    }
  }
  return out;
}

function widen(halves: ArrayLike<number>): Float32Array {
  const bits = Uint32Array.from(halves, (half) => half << 16);
  return new Float32Array(bits.buffer);
}
