/**
 * Placeholders for exports that need Node.js (files, processes, MPI). The entries for browsers, which
 * scripts/browser-entries.mjs writes, export them under the same names.
 */
import { StateError } from './errors.js';

/**
 * Makes the placeholder of an export that needs Node.js: calling it, `new`, and reading a property throw an error that
 * names it. Importing it does not, so a page may import a name that it does not use.
 *
 * @param name such as `FileStore`
 * @param from the import it belongs to, such as `skein/storage`
 * @param instead what to use in a browser, for the error
 */
export function nodeOnly(name: string, from: string, instead?: string): unknown {
  const fail = (): never => {
    const advice =
      instead === undefined ? 'Call it in Node.js and send the result to the page.' : `Use ${instead}.`;
    throw new StateError(
      `${name}: this export of ${from} needs Node.js, and this is the build for browsers. ${advice}`,
    );
  };
  // Bundlers, debuggers and `await` read symbols, `then` and similar properties of any value; these do not throw.
  const harmless = new Set<string | symbol>(['prototype', 'name', 'length', 'then', 'toJSON', '$$typeof']);
  return new Proxy(function stub() {}, {
    apply: fail,
    construct: fail,
    get: (target, key) => (typeof key === 'symbol' || harmless.has(key) ? Reflect.get(target, key) : fail()),
  });
}
