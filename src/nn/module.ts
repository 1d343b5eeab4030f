/**
 * `Module`: a function with parameters.
 *
 * A module has no registry. Its public fields are inspected on demand: parameters, buffers, child modules, and arrays,
 * maps and plain objects of these. Names are field names joined by dots, as in PyTorch: `layers.0.weight`. Private
 * `#fields` are not visible, so they must not hold values that are trained or saved.
 *
 * A class is either abstract or final: write a new layer by extending `Module`, or wrap one; do not extend a layer.
 */
import { type DeviceLike, findDevice } from '../tensor/device.js';
import { Tensor } from '../tensor/index.js';
import { fetchInPlace, moveInPlace } from '../tensor/move.js';
import { formatShape } from '../tensor/shape.js';
import { StateError } from '../util/errors.js';
import { isBuffer, isParameter } from './parameter.js';
import { type LoadOptions, type LoadResult, loadNamed } from './state-dict.js';

type Visit = (name: string, value: Tensor | Module) => void;

/** A module from one tensor to one tensor, as `Sequential` chains them. */
export type Layer = Module & { forward(x: Tensor): Tensor };

export abstract class Module {
  /** Whether dropout drops and batch normalisation uses the batch; set it with `train` and `eval`. */
  training = true;

  abstract forward(...inputs: never[]): unknown;

  /** Returns the fields to inspect, with their names. */
  protected fields(): Iterable<readonly [string, unknown]> {
    return Object.entries(this);
  }

  /** Returns sizes and options for `toString`, such as `4 → 8`. */
  protected describe(): string {
    return '';
  }

  /** Returns parameters with their names; a shared one appears once, under its first name. */
  namedParameters(): Map<string, Tensor> {
    return firstNames(this.#tensors(isParameter));
  }

  parameters(): Tensor[] {
    return [...this.namedParameters().values()];
  }

  namedBuffers(): Map<string, Tensor> {
    return firstNames(this.#tensors(isBuffer));
  }

  /** Returns the direct child modules by name. */
  children(): Map<string, Module> {
    const found: [string, Module][] = [];
    scan('', this.fields(), new Set(), (name, value) => {
      if (value instanceof Module) found.push([name, value]);
    });
    return firstNames(found);
  }

  /** Returns this module (named '') and all below it, each once. */
  modules(): Map<string, Module> {
    const found: [string, Module][] = [];
    this.#walk('', new Set(), (name, value) => {
      if (value instanceof Module) found.push([name, value]);
    });
    return firstNames(found);
  }

  /** Returns the number of trained elements. */
  parameterCount(): number {
    return this.parameters().reduce((total, p) => total + p.size, 0);
  }

  /** Switches this module and all below it to training (or, with false, to evaluation). */
  train(mode = true): this {
    for (const module of this.modules().values()) module.training = mode;
    return this;
  }

  eval(): this {
    return this.train(false);
  }

  /** Removes the gradients of all parameters. */
  zeroGrad(): void {
    for (const p of this.parameters()) p.zeroGrad();
  }

  /** Moves parameters and buffers to a device, in place and without their gradients; use `cpu` to move them back. */
  to(device: DeviceLike): this {
    const target = findDevice('Module.to', device);
    for (const [, t] of this.#tensors(isState)) {
      if (target !== null) moveInPlace(t, target);
      else if (t.device !== null)
        throw new StateError(
          `Module.to: values on ${t.device.name} must be awaited. Use \`await module.cpu()\`.`,
        );
    }
    return this;
  }

  /** Moves parameters and buffers to the CPU, in place. */
  async cpu(): Promise<this> {
    for (const [, t] of this.#tensors(isState)) await fetchInPlace(t);
    return this;
  }

  /**
   * Returns parameters and buffers by name, outside the tape. They share memory with the module, so clone those that
   * training must not change. A shared tensor appears once.
   */
  stateDict(): Record<string, Tensor> {
    const owned = firstNames(this.#tensors(isState));
    return Object.fromEntries([...owned].map(([name, t]) => [name, t.alias()]));
  }

  /**
   * Copies values into parameters and buffers of the same names; floats are converted to the dtype of the module.
   * Nothing is changed if any value does not fit.
   *
   * @param options.strict false allows missing and unexpected names (they are returned); shapes must always fit.
   */
  loadStateDict(state: Readonly<Record<string, Tensor>>, options: LoadOptions = {}): LoadResult {
    return loadNamed(this.constructor.name, this.#tensors(isState), state, options);
  }

  /** Returns the tree of modules with the shapes of their parameters and buffers. */
  toString(): string {
    const count = this.parameterCount().toLocaleString('en');
    return [`${this.#title()} · ${count} parameters`, ...this.#lines('  ', new Set([this]))].join('\n');
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  #title(): string {
    return `${this.constructor.name}(${this.describe()})`;
  }

  #lines(indent: string, path: ReadonlySet<Module>): string[] {
    const lines: string[] = [];
    scan('', this.fields(), new Set(), (name, value) => {
      if (!(value instanceof Module)) {
        const kind = isBuffer(value) ? ' (buffer)' : '';
        lines.push(`${indent}${name}: ${formatShape(value.shape)} ${value.dtype}${kind}`);
      } else if (!path.has(value)) {
        lines.push(
          `${indent}${name}: ${value.#title()}`,
          ...value.#lines(`${indent}  `, new Set([...path, value])),
        );
      }
    });
    return lines;
  }

  /** Returns every tensor that passes `wanted`, under each of its names. */
  #tensors(wanted: (value: unknown) => boolean): [string, Tensor][] {
    const found: [string, Tensor][] = [];
    this.#walk('', new Set(), (name, value) => {
      if (value instanceof Tensor && wanted(value)) found.push([name, value]);
    });
    return found;
  }

  /** Walks depth first in the order of the fields; a module that contains itself is entered once per path. */
  #walk(name: string, path: Set<Module>, visit: Visit): void {
    if (path.has(this)) return;
    path.add(this);
    visit(name, this);
    scan(name, this.fields(), new Set(), (inner, value) => {
      if (value instanceof Module) value.#walk(inner, path, visit);
      else visit(inner, value);
    });
    path.delete(this);
  }
}

/** Visits marked tensors and modules in the fields, also inside arrays, maps and plain objects. */
function scan(
  prefix: string,
  fields: Iterable<readonly [unknown, unknown]>,
  seen: Set<unknown>,
  visit: Visit,
): void {
  for (const [key, value] of fields) {
    if (typeof value !== 'object' || value === null) continue;
    const name = prefix === '' ? String(key) : `${prefix}.${key}`;
    if (value instanceof Tensor ? isState(value) : value instanceof Module) {
      visit(name, value as Tensor | Module);
      continue;
    }
    const inner = entriesOf(value);
    if (inner === null || seen.has(value)) continue;
    seen.add(value);
    scan(name, inner, seen, visit);
  }
}

function entriesOf(value: object): Iterable<readonly [unknown, unknown]> | null {
  if (Array.isArray(value) || value instanceof Map) return value.entries();
  return Object.getPrototypeOf(value) === Object.prototype ? Object.entries(value) : null;
}

function isState(value: unknown): boolean {
  return isParameter(value) || isBuffer(value);
}

function firstNames<T>(entries: readonly (readonly [string, T])[]): Map<string, T> {
  const seen = new Set<T>();
  const result = new Map<string, T>();
  for (const [name, value] of entries) {
    if (seen.has(value)) continue;
    seen.add(value);
    result.set(name, value);
  }
  return result;
}
