/** Errors that every worker of a job throws by itself: none waits for another, and the program can end in order. */
const agreed = new WeakSet<object>();

/** Marks an error that every rank throws by itself, because all have computed the same. */
export function agreedError<E>(error: E): E {
  if (typeof error === 'object' && error !== null) agreed.add(error);
  return error;
}

/** Whether every rank has thrown this error. */
export function isAgreed(error: unknown): boolean {
  return typeof error === 'object' && error !== null && agreed.has(error);
}
