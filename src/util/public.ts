/** The errors that Skein throws, and random numbers that depend on a seed alone. */
export {
  CommError,
  ConfigError,
  DeviceError,
  DTypeError,
  FormatError,
  InternalError,
  ShapeError,
  SkeinError,
  StateError,
  StorageError,
  ValueError,
} from './errors.js';
export { Random, type RandomState } from './philox.js';
