/**
 * Whether operations are recorded, and whether their results are checked.
 */
import { StateError } from '../util/errors.js';

let recording = true;
let checking = globalThis.process?.env?.SKEIN_CHECK === '1';

export function isGradEnabled(): boolean {
  return recording;
}

/** Sets recording and returns what it was: for the tape, which restores it in a `finally`. @internal */
export function setRecording(flag: boolean): boolean {
  const before = recording;
  recording = flag;
  return before;
}

/** Runs `fn` without recording: for inference and for updating parameters. */
export function noGrad<T>(fn: () => T): T {
  return withRecording('noGrad', false, fn);
}

/** Runs `fn` with recording, also inside `noGrad` or inside a backward function (for rematerialisation). */
export function enableGrad<T>(fn: () => T): T {
  return withRecording('enableGrad', true, fn);
}

function withRecording<T>(where: string, flag: boolean, fn: () => T): T {
  const before = recording;
  recording = flag;
  try {
    const result = fn();
    if (result instanceof Promise) {
      throw new StateError(
        `${where}: expected a function that ends before it returns, got an async one. Await first, then call ${where}.`,
      );
    }
    return result;
  } finally {
    recording = before;
  }
}

/**
 * True when every operation's result is checked for NaN and infinity (`SKEIN_CHECK=1` or `setCheckFinite`). Results on a
 * device are not: their values cannot be looked at in passing.
 */
export function isCheckingFinite(): boolean {
  return checking;
}

export function setCheckFinite(flag: boolean): void {
  checking = flag;
}
