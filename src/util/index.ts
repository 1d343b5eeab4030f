/** Errors, random numbers, sizes. */
export {
  CommError,
  ConfigError,
  checkInteger,
  checkNumber,
  DeviceError,
  DTypeError,
  describe,
  expected,
  FormatError,
  InternalError,
  ShapeError,
  SkeinError,
  StateError,
  StorageError,
  ValueError,
} from './errors.js';
export { Random, type RandomState } from './philox.js';
export { formatSize, parseByteCount, parseSize } from './size.js';
