/**
 * What stands for an export that needs Node.js (files, processes, MPI) in a page: the entries for browsers, which
 * scripts/browser-entries.mjs writes, export it under the same name.
 */
import { StateError } from './errors.js';

/**
 * Stands for an export that needs Node.js: calling it, making one with `new`, and reading anything from it throw an error
 * with its name. Importing it does not, so a page may import a name that it does not use.
 *
 * @param name such as `FileStore`
 * @param from the import it belongs to, such as `skein/storage`
 * @param instead what a browser has in its place, as part of a sentence
 */
export function nodeOnly(name: string, from: string, instead?: string): unknown {
  const fail = (): never => {
    const advice =
      instead === undefined ? 'Call it in Node.js and send the result to the page.' : `Use ${instead}.`;
    throw new StateError(
      `${name}: this part of ${from} needs Node.js, and this is the build for browsers. ${advice}`,
    );
  };
  // Bundlers, debuggers and `await` ask anything for symbols, `then` and the like; only Skein's own names are refused.
  const harmless = new Set<string | symbol>(['prototype', 'name', 'length', 'then', 'toJSON', '$$typeof']);
  return new Proxy(function stub() {}, {
    apply: fail,
    construct: fail,
    get: (target, key) => (typeof key === 'symbol' || harmless.has(key) ? Reflect.get(target, key) : fail()),
  });
}
