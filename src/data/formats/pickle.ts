/**
 * Reads pickles of datasets, protocols 0 to 5, as data. Nothing is executed: opcodes that build plain values are interpreted
 * here, names are compared with a short list (pickle-objects.ts), and anything else is an error with the file, the opcode
 * and its position.
 *
 * Python 2 strings become text by latin1, as `pickle.load(file, encoding='latin1')` does. Opcodes: pickletools.py.
 */
import { FormatError } from '../../util/errors.js';
import { buildObject, callGlobal, findGlobal, newObject, type PickleValue } from './pickle-objects.js';

/** A position in the stack from which a list or a tuple is collected. */
const mark = Symbol('mark');
type StackItem = PickleValue | typeof mark;

/** Maximum nesting of containers: datasets need few levels, and code that walks over a value may recurse. */
const maxDepth = 100;
/** Maximum digits of a number written as text; the 128 bytes of the binary form hold as many. */
const maxDigits = 309;

/** Parses the value of a pickle; `where` names the file in messages. */
export function parsePickle(bytes: Uint8Array, where: string): PickleValue {
  return new PickleMachine(bytes, where).run();
}

class PickleMachine {
  readonly #view: DataView;
  readonly #stack: StackItem[] = [];
  readonly #memo = new Map<number, PickleValue>();
  /** Bytes of arrays that may still be created: one memoised string could be used for any number of them. */
  #budget: number;
  /** Levels of containers inside a container, if any. */
  readonly #depth = new WeakMap<object, number>();
  #at = 0;
  /** Position of the current opcode, for messages. */
  #opcodeAt = 0;

  constructor(
    readonly bytes: Uint8Array,
    readonly where: string,
  ) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#budget = 2 ** 26 + 16 * bytes.length;
  }

  run(): PickleValue {
    for (;;) {
      this.#opcodeAt = this.#at;
      const code = this.bytes[this.#take(1)];
      if (code === 0x2e) return this.#pop(); // STOP
      const step = steps.get(code);
      if (step === undefined) this.#reject('expected an opcode that builds data');
      step(this);
    }
  }

  readonly #reject: (what: string) => never = (what) => {
    const code = this.bytes[this.#opcodeAt] ?? 0;
    const name = `0x${code.toString(16).padStart(2, '0')}${code > 32 && code < 127 ? ` '${String.fromCharCode(code)}'` : ''}`;
    throw new FormatError(
      `${this.where}: ${what}, at opcode ${name}, byte ${this.#opcodeAt}. Only pickles of arrays, sparse matrices and dictionaries are read, and none is executed.`,
      { path: this.where, opcode: code, offset: this.#opcodeAt },
    );
  };

  /** Advances by n bytes and returns their start. */
  #take(n: number): number {
    const start = this.#at;
    if (start + n > this.bytes.length) this.#reject(`expected ${n} more bytes, got the end of the file`);
    this.#at += n;
    return start;
  }

  #pop(): PickleValue {
    const value = this.#stack.pop();
    if (value === undefined || value === mark) return this.#reject('expected a value on the stack');
    return value;
  }

  #top(): PickleValue {
    const value = this.#stack[this.#stack.length - 1];
    if (value === undefined || value === mark) return this.#reject('expected a value on the stack');
    return value;
  }

  /** Pops everything above the last mark. */
  #popToMark(): PickleValue[] {
    const at = this.#stack.lastIndexOf(mark);
    if (at < 0) this.#reject('expected a mark on the stack');
    const values = this.#stack.splice(at) as PickleValue[];
    values.shift();
    return values;
  }

  /** Counts the bytes that a call or a state turns into an array. */
  #spend(content: PickleValue | undefined): void {
    if (typeof content === 'string' || content instanceof Uint8Array) this.#budget -= content.length;
    if (this.#budget < 0)
      this.#reject('expected arrays in proportion to the file, got the same content too often');
  }

  /** Records that `container` received these items. */
  #nest(container: PickleValue[] | Map<PickleValue, PickleValue>, items: readonly PickleValue[]): void {
    let depth = this.#depth.get(container) ?? 0;
    for (const item of items) {
      if (Array.isArray(item) || item instanceof Map)
        depth = Math.max(depth, 1 + (this.#depth.get(item) ?? 0));
    }
    if (depth > maxDepth) this.#reject(`expected at most ${maxDepth} levels of lists and dictionaries`);
    if (depth > 0) this.#depth.set(container, depth);
  }

  push(value: PickleValue): void {
    this.#stack.push(value);
  }

  pushMark(): void {
    this.#stack.push(mark);
  }

  drop(): void {
    this.#stack.pop();
  }

  dropToMark(): void {
    this.#popToMark();
  }

  duplicate(): void {
    this.push(this.#top());
  }

  skip(n: number): void {
    this.#take(n);
  }

  protocol(): void {
    const version = this.unsigned(1);
    if (version > 5) this.#reject(`expected protocol 0 to 5, got ${version}`);
  }

  /** Reads a little-endian unsigned number. */
  unsigned(size: 1 | 2 | 4 | 8): number {
    const start = this.#take(size);
    if (size === 1) return this.bytes[start];
    if (size === 2) return this.#view.getUint16(start, true);
    const low = this.#view.getUint32(start, true);
    return size === 4 ? low : low + this.#view.getUint32(start + 4, true) * 4294967296;
  }

  signed32(): number {
    return this.#view.getInt32(this.#take(4), true);
  }

  float64(): number {
    return this.#view.getFloat64(this.#take(8), false);
  }

  /** Reads a two's complement number of n bytes. */
  long(n: number): number | bigint {
    if (n > 128) this.#reject(`expected a number of at most 128 bytes, got ${n}`);
    const start = this.#take(n);
    let value = 0n;
    for (let i = n - 1; i >= 0; i--) value = (value << 8n) | BigInt(this.bytes[start + i]);
    return narrow(n === 0 ? 0n : BigInt.asIntN(8 * n, value));
  }

  take(n: number): Uint8Array {
    const start = this.#take(n);
    return this.bytes.subarray(start, start + n);
  }

  latin1(n: number): string {
    return Buffer.from(this.take(n)).toString('latin1');
  }

  utf8(n: number): string {
    return new TextDecoder().decode(this.take(n));
  }

  /** Reads text up to the end of the line. */
  line(): string {
    const end = this.bytes.indexOf(0x0a, this.#at);
    if (end < 0) this.#reject('expected a line, got the end of the file');
    const text = this.latin1(end - this.#at);
    this.#at++;
    return text;
  }

  /** Reads a number written as text; protocol 0 also writes booleans in this form. */
  integerLine(): PickleValue {
    const text = this.line();
    if (text === '00' || text === '01') return text === '01';
    if (text.length > maxDigits + 2) this.#reject(`expected at most ${maxDigits} digits, got ${text.length}`);
    if (!/^-?\d+L?$/.test(text)) return this.#reject(`expected a whole number, got ${JSON.stringify(text)}`);
    return narrow(BigInt(text.replace('L', '')));
  }

  floatLine(): number {
    const text = this.line();
    const value = text === 'nan' ? Number.NaN : Number(text.replace(/inf$/, 'Infinity'));
    if (text === '' || (Number.isNaN(value) && text !== 'nan'))
      this.#reject(`expected a number, got ${JSON.stringify(text.slice(0, 40))}`);
    return value;
  }

  /** Reads a quoted string with Python's escapes. */
  quotedLine(): string {
    const text = this.line();
    const quote = text[0];
    if (text.length < 2 || (quote !== "'" && quote !== '"') || !text.endsWith(quote))
      this.#reject('expected a quoted string');
    const escapes: Readonly<Record<string, string>> = {
      ...{ n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b', f: '\f', v: '\v' },
    };
    return text.slice(1, -1).replace(/\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|.)/g, (_, code: string) => {
      if (code[0] === 'x' && code.length === 3)
        return String.fromCharCode(Number.parseInt(code.slice(1), 16));
      if (/^[0-7]/.test(code)) return String.fromCharCode(Number.parseInt(code, 8) & 0xff);
      return escapes[code] ?? code;
    });
  }

  unicodeLine(): string {
    return this.line().replace(
      /\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})/g,
      (_, short?: string, long?: string) => {
        const point = Number.parseInt(short ?? long ?? '', 16);
        return point > 0x10ffff ? this.#reject('expected a Unicode character') : String.fromCodePoint(point);
      },
    );
  }

  collect(): void {
    const items = this.#popToMark();
    this.#nest(items, items);
    this.push(items);
  }

  tuple(n: number): void {
    const items = Array.from({ length: n }, () => this.#pop());
    this.#nest(items, items);
    this.push(items.reverse());
  }

  append(items: PickleValue[]): void {
    const list = this.#top();
    if (!Array.isArray(list)) this.#reject('expected a list to append to');
    this.#nest(list, items);
    for (const item of items) list.push(item);
  }

  appendOne(): void {
    const item = this.#pop();
    this.append([item]);
  }

  appendMany(): void {
    this.append(this.#popToMark());
  }

  setItems(pairs: PickleValue[]): void {
    const target = this.#top();
    if (!(target instanceof Map) || pairs.length % 2 !== 0) this.#reject('expected a dictionary and pairs');
    this.#nest(target, pairs);
    for (let i = 0; i < pairs.length; i += 2) target.set(pairs[i], pairs[i + 1]);
  }

  setOne(): void {
    const value = this.#pop();
    const key = this.#pop();
    this.setItems([key, value]);
  }

  setMany(): void {
    this.setItems(this.#popToMark());
  }

  dictionary(): void {
    const pairs = this.#popToMark();
    this.push(new Map());
    this.setItems(pairs);
  }

  remember(slot: number): void {
    this.#memo.set(slot, this.#top());
  }

  memoize(): void {
    this.remember(this.#memo.size);
  }

  recall(slot: number): void {
    const value = this.#memo.get(slot);
    if (value === undefined) this.#reject(`expected a remembered value ${slot}`);
    this.push(value);
  }

  lineNumber(): number {
    const text = this.line();
    return /^\d{1,9}$/.test(text) ? Number(text) : this.#reject('expected a slot number');
  }

  global(module: string, name: string): void {
    this.push(findGlobal(module, name, this.#reject));
  }

  stackGlobal(): void {
    const name = this.#pop();
    const module = this.#pop();
    if (typeof name !== 'string' || typeof module !== 'string') this.#reject('expected a name as text');
    this.global(module, name);
  }

  reduce(): void {
    const args = this.#pop();
    if (Array.isArray(args)) this.#spend(args[0]);
    this.push(callGlobal(this.#pop(), args, this.where, this.#reject));
  }

  newObject(): void {
    this.#pop();
    this.push(newObject(this.#pop(), this.#reject));
  }

  build(): void {
    const state = this.#pop();
    if (Array.isArray(state)) this.#spend(state[4]);
    buildObject(this.#top(), state, this.where, this.#reject);
  }
}

function narrow(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

type Step = (machine: PickleMachine) => void;

/** The action of each opcode. */
const opcodes: readonly (readonly [string, Step])[] = [
  ['\x80', (m) => m.protocol()],
  ['\x95', (m) => m.skip(8)],
  ['(', (m) => m.pushMark()],
  ['0', (m) => m.drop()],
  ['1', (m) => m.dropToMark()],
  ['2', (m) => m.duplicate()],
  ['N', (m) => m.push(null)],
  ['\x88', (m) => m.push(true)],
  ['\x89', (m) => m.push(false)],
  ['I', (m) => m.push(m.integerLine())],
  ['L', (m) => m.push(m.integerLine())],
  ['J', (m) => m.push(m.signed32())],
  ['K', (m) => m.push(m.unsigned(1))],
  ['M', (m) => m.push(m.unsigned(2))],
  ['\x8a', (m) => m.push(m.long(m.unsigned(1)))],
  ['\x8b', (m) => m.push(m.long(m.unsigned(4)))],
  ['F', (m) => m.push(m.floatLine())],
  ['G', (m) => m.push(m.float64())],
  ['S', (m) => m.push(m.quotedLine())],
  ['T', (m) => m.push(m.latin1(m.unsigned(4)))],
  ['U', (m) => m.push(m.latin1(m.unsigned(1)))],
  ['V', (m) => m.push(m.unicodeLine())],
  ['X', (m) => m.push(m.utf8(m.unsigned(4)))],
  ['\x8c', (m) => m.push(m.utf8(m.unsigned(1)))],
  ['\x8d', (m) => m.push(m.utf8(m.unsigned(8)))],
  ['B', (m) => m.push(m.take(m.unsigned(4)))],
  ['C', (m) => m.push(m.take(m.unsigned(1)))],
  ['\x8e', (m) => m.push(m.take(m.unsigned(8)))],
  ['\x96', (m) => m.push(m.take(m.unsigned(8)))],
  [']', (m) => m.push([])],
  [')', (m) => m.push([])],
  ['}', (m) => m.push(new Map())],
  ['l', (m) => m.collect()],
  ['t', (m) => m.collect()],
  ['\x85', (m) => m.tuple(1)],
  ['\x86', (m) => m.tuple(2)],
  ['\x87', (m) => m.tuple(3)],
  ['d', (m) => m.dictionary()],
  ['a', (m) => m.appendOne()],
  ['e', (m) => m.appendMany()],
  ['s', (m) => m.setOne()],
  ['u', (m) => m.setMany()],
  ['p', (m) => m.remember(m.lineNumber())],
  ['q', (m) => m.remember(m.unsigned(1))],
  ['r', (m) => m.remember(m.unsigned(4))],
  ['\x94', (m) => m.memoize()],
  ['g', (m) => m.recall(m.lineNumber())],
  ['h', (m) => m.recall(m.unsigned(1))],
  ['j', (m) => m.recall(m.unsigned(4))],
  ['c', (m) => m.global(m.line(), m.line())],
  ['\x93', (m) => m.stackGlobal()],
  ['R', (m) => m.reduce()],
  ['\x81', (m) => m.newObject()],
  ['b', (m) => m.build()],
  // A persistent id, which stays on the stack in place of its value.
  ['Q', () => {}],
];

const steps = new Map(opcodes.map(([code, step]) => [code.charCodeAt(0), step]));
