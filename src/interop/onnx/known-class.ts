/**
 * Whether a module computes as a class of Skein does. A class derived from it may add what it likes, but what it overrides
 * would be lost in a translation that knows the base only, so such a module is none of that class here.
 */
import type { Module } from '../../nn/index.js';

interface ModuleClass<T extends Module> {
  readonly prototype: T;
}

export function computesAs<T extends Module>(module: Module, kind: ModuleClass<T>): module is T {
  let own: object | null = Object.getPrototypeOf(module);
  while (own !== null && own !== kind.prototype) {
    if (Reflect.ownKeys(own).some((key) => key !== 'constructor' && key in kind.prototype)) return false;
    own = Object.getPrototypeOf(own);
  }
  return own !== null;
}
