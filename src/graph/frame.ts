/**
 * Named tensors, one row per node or edge, as a plain-looking object: `graph.ndata.h = x`. Setting a tensor with
 * another number of rows throws immediately, not later in a kernel.
 */

import { Tensor } from '../tensor/index.js';
import { formatShape } from '../tensor/shape.js';
import { expected, ShapeError, ValueError } from '../util/errors.js';

/** Tensors by name; reading an unknown name throws an error that lists the known ones. */
export type Frame = Record<string, Tensor>;

interface FrameState {
  fields: Map<string, Tensor>;
}

const states = new WeakMap<Frame, FrameState>();

/** Makes an empty frame. `name` is its name in errors, `rows` the number of rows of its tensors. */
export function makeFrame(name: string, rows: number): Frame {
  const state: FrameState = { fields: new Map() };
  const frame = new Proxy<Frame>(
    {},
    {
      get: (_target, key) => (typeof key === 'string' ? readField(state, name, key) : undefined),
      set(_target, key, value) {
        if (typeof key !== 'string') return false;
        state.fields.set(key, checkRows(`${name}.${key}`, value, rows));
        return true;
      },
      has: (_target, key) => typeof key === 'string' && state.fields.has(key),
      deleteProperty: (_target, key) => typeof key === 'string' && state.fields.delete(key),
      ownKeys: () => [...state.fields.keys()],
      getOwnPropertyDescriptor: (_target, key) =>
        typeof key === 'string' && state.fields.has(key)
          ? { configurable: true, enumerable: true, writable: true, value: state.fields.get(key) }
          : undefined,
    },
  );
  states.set(frame, state);
  return frame;
}

function readField(state: FrameState, name: string, key: string): Tensor {
  const value = state.fields.get(key);
  // Printing and promise checks read these names.
  if (value !== undefined || key === 'then' || key === 'toJSON') return value as Tensor;
  const known = [...state.fields.keys()];
  const list = known.length === 0 ? 'It has no fields yet.' : `It has: ${known.join(', ')}.`;
  throw new ValueError(`${name}: expected a field that was set, got ${JSON.stringify(key)}. ${list}`);
}

function checkRows(where: string, value: unknown, rows: number): Tensor {
  if (!(value instanceof Tensor)) throw new ValueError(expected(where, 'a tensor', 'the value', value));
  if (value.rank === 0 || value.shape[0] !== rows) {
    throw new ShapeError(expected(where, `${rows} rows`, 'the value', `shape ${formatShape(value.shape)}`));
  }
  return value;
}

/** Runs `fn` and then restores the fields of every frame, even if `fn` throws. */
export function withFramesRestored<T>(frames: readonly Frame[], fn: () => T): T {
  const kept = frames.map((frame) => {
    const state = states.get(frame) as FrameState;
    return { state, fields: new Map(state.fields) };
  });
  try {
    return fn();
  } finally {
    for (const { state, fields } of kept) state.fields = fields;
  }
}
