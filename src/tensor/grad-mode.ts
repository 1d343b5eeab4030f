/**
 * Global modes: whether operations are recorded, and whether their results are checked.
 */
import { StateError } from '../util/errors.js';

let recording = true;
let checking = globalThis.process?.env?.SKEIN_CHECK === '1';

export function isGradEnabled(): boolean {
  return recording;
}

/** Sets recording and returns the previous mode, for the tape, which restores it in a `finally`. @internal */
export function setRecording(flag: boolean): boolean {
  const before = recording;
  recording = flag;
  return before;
}

/** Runs `fn` without recording: for inference and for updating parameters. */
export function noGrad<T>(fn: () => T): T {
  return withRecording('noGrad', false, fn);
}

/** Runs `fn` with recording, even inside `noGrad` or a backward function (for rematerialisation). */
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
        `${where}: expected a synchronous function, got an async one. Await first, then call ${where}.`,
      );
    }
    return result;
  } finally {
    recording = before;
  }
}

/**
 * Whether the result of every operation is checked for NaN and infinity (`SKEIN_CHECK=1` or `setCheckFinite`). Results
 * on a device are not checked: reading them would need an await.
 */
export function isCheckingFinite(): boolean {
  return checking;
}

export function setCheckFinite(flag: boolean): void {
  checking = flag;
}
