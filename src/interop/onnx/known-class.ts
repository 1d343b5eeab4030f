/**
 * Checks whether a module computes as a class of Skein does. A derived class may add members; one that overrides a member
 * does not match, since a translation of the base class would ignore the override.
 */
import type { Module } from '../../nn/index.js';

interface ModuleClass<T extends Module> {
  readonly prototype: T;
}

export function computesAs<T extends Module>(module: Module, kind: ModuleClass<T>): module is T {
  let prototype: object | null = Object.getPrototypeOf(module);
  while (prototype !== null && prototype !== kind.prototype) {
    if (Reflect.ownKeys(prototype).some((key) => key !== 'constructor' && key in kind.prototype))
      return false;
    prototype = Object.getPrototypeOf(prototype);
  }
  return prototype !== null;
}
