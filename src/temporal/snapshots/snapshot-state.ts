/**
 * The state of a model in discrete time on a stream: the events of the open window, the last closed snapshots, through
 * which gradients flow, and the recurrent state before these. A snapshot is a window that has events;
 * windows without events are skipped. Scores in a window see the snapshots before it and nothing of the window itself.
 */
import type { Graph } from '../../graph/index.js';
import type { TypedArray } from '../../native/index.js';
import { noGrad, type Tensor, tensor } from '../../tensor/index.js';
import { unscoped } from '../../tensor/scope.js';
import { checkInteger, expected, FormatError, StateError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { TemporalBatch } from '../batch.js';
import type { CommittedState, StateSnapshot } from '../temporal-state.js';
import { graphOfEdges } from './snapshots-of.js';

/** The events of one window. */
export interface WindowEvents {
  readonly window: number;
  readonly src: Int32Array;
  readonly dst: Int32Array;
}

/** The inputs of scores. */
export interface SnapshotView<S> {
  /** The recurrent state before the first of `graphs`; undefined at the beginning of the stream. */
  readonly base: S | undefined;
  readonly graphs: readonly Graph[];
}

interface Content<S> {
  readonly base: S | undefined;
  /** At most `depth` closed windows, the latest last. */
  readonly tail: readonly WindowEvents[];
  /** The window that is being filled; null before the first event. */
  readonly open: WindowEvents | null;
}

export interface SnapshotStateOptions<S> {
  readonly numNodes: number;
  readonly directed: boolean;
  readonly windowOf: (time: number) => number;
  /** Closed snapshots that are kept. */
  readonly depth: number;
  /** The recurrent state after a snapshot. */
  readonly step: (graph: Graph, before: S | undefined) => S;
}

export class SnapshotState<S> implements CommittedState<Content<S>> {
  readonly name = 'snapshots';
  readonly #options: SnapshotStateOptions<S>;
  #content: Content<S> = { base: undefined, tail: [], open: null };
  readonly #graphs = new WeakMap<WindowEvents, Graph>();

  constructor(options: SnapshotStateOptions<S>) {
    checkOptionNames('SnapshotState', options, {
      ...{ numNodes: true, directed: true, windowOf: true, depth: true },
      step: true,
    });
    checkInteger('SnapshotState', 'depth', options.depth, 1);
    this.#options = options;
  }

  get bytes(): number {
    const { base, tail, open } = this.#content;
    const events = [...tail, ...(open === null ? [] : [open])].reduce((sum, { src }) => sum + src.length, 0);
    return 8 * events + partsOf(base).reduce((sum, [, t]) => sum + 4 * t.size, 0);
  }

  /** The window that is being filled; undefined before the first event. */
  get openWindow(): number | undefined {
    return this.#content.open?.window;
  }

  /** Returns the inputs of scores in the open window, or with `later` in one after it. */
  view(later: boolean): SnapshotView<S> {
    const { base, tail } = later ? this.#close(this.#content) : this.#content;
    return { base, graphs: tail.map((events) => this.#graphOf(events)) };
  }

  prepare(batch: TemporalBatch): Content<S> {
    const { windowOf } = this.#options;
    const { src, dst, times } = batch;
    let content = this.#content;
    for (let from = 0; from < src.length; ) {
      const window = windowOf(times[from]);
      let to = from + 1;
      while (to < src.length && windowOf(times[to]) === window) to++;
      content = this.#with(content, { window, src: src.slice(from, to), dst: dst.slice(from, to) });
      from = to;
    }
    return content;
  }

  commit(next: Content<S>): void {
    const { base } = this.#content;
    if (next.base === base) this.#content = next;
    else this.#replace({ ...next, base: keptCopy(next.base) });
  }

  reset(): void {
    this.#replace({ base: undefined, tail: [], open: null });
  }

  snapshot(): StateSnapshot {
    const { base, tail, open } = this.#content;
    const all = [...tail, ...(open === null ? [] : [open])];
    const arrays: Record<string, TypedArray> = {
      src: joined(all.map(({ src }) => src)),
      dst: joined(all.map(({ dst }) => dst)),
    };
    for (const [name, t] of partsOf(base)) arrays[`base.${name}`] = t.dataSync().slice() as Float32Array;
    return {
      windows: all.map(({ window }) => window),
      lengths: all.map(({ src }) => src.length),
      open: open !== null,
      base: base === undefined ? null : partsOf(base).map(([name, t]) => [name, t.shape]),
      arrays,
    };
  }

  restore(saved: StateSnapshot): void {
    const { windows, lengths, open, base, arrays } = saved as unknown as SavedSnapshots;
    const all: WindowEvents[] = [];
    let from = 0;
    for (const [i, window] of windows.entries()) {
      const [src, dst] = (['src', 'dst'] as const).map((name) => arrays[name].slice(from, from + lengths[i]));
      if (src.length !== lengths[i] || dst.length !== lengths[i])
        throw new FormatError(expected('restore', `${lengths[i]} events`, `window ${window}`, src.length));
      all.push({ window, src, dst });
      from += lengths[i];
    }
    const parts = base?.map(([name, shape]) => [name, rowsOf(name, shape, arrays)] as const) ?? [];
    this.#replace({
      base: base === null ? undefined : (fromParts(parts) as S),
      tail: open ? all.slice(0, -1) : all,
      open: open ? all[all.length - 1] : null,
    });
  }

  /** The content with more events, of its open window or of a later one. */
  #with(content: Content<S>, events: WindowEvents): Content<S> {
    const { open } = content;
    if (open === null) return { ...content, open: events };
    if (events.window < open.window)
      throw new StateError(
        expected(
          'SnapshotState',
          `events from window ${open.window} on`,
          'an event',
          `one of window ${events.window}`,
        ),
      );
    if (events.window === open.window)
      return {
        ...content,
        open: {
          window: open.window,
          src: joined([open.src, events.src]),
          dst: joined([open.dst, events.dst]),
        },
      };
    return { ...this.#close(content), open: events };
  }

  /** The open window becomes the latest snapshot; what leaves the tail goes into the base, outside the tape. */
  #close({ base, tail, open }: Content<S>): Content<S> {
    if (open === null) return { base, tail, open };
    const { depth, step } = this.#options;
    const all = [...tail, open];
    let before = base;
    noGrad(() => {
      while (all.length > depth) before = step(this.#graphOf(all.shift() as WindowEvents), before);
    });
    return { base: before, tail: all, open: null };
  }

  #graphOf(events: WindowEvents): Graph {
    const known = this.#graphs.get(events) ?? graphOfEdges(events.src, events.dst, this.#options);
    this.#graphs.set(events, known);
    return known;
  }

  #replace(next: Content<S>): void {
    for (const [, t] of partsOf(this.#content.base)) t.dispose();
    this.#content = next;
  }
}

interface SavedSnapshots {
  readonly windows: readonly number[];
  readonly lengths: readonly number[];
  readonly open: boolean;
  readonly base: readonly (readonly [string, readonly number[]])[] | null;
  readonly arrays: Readonly<Record<string, Int32Array>>;
}

function rowsOf(name: string, shape: readonly number[], arrays: SavedSnapshots['arrays']): Tensor {
  const array = arrays[`base.${name}`] as unknown as Float32Array | undefined;
  const size = shape.reduce((product, length) => product * length, 1);
  if (array?.length !== size)
    throw new FormatError(expected('restore', `${size} numbers`, `the state ${name}`, array?.length));
  return unscoped(() => tensor(array, { shape: [...shape] }));
}

/** A recurrent state is a tensor, a list of them, or an object with some by name. */
function partsOf(state: unknown): [string, Tensor][] {
  if (state === undefined) return [];
  if (isTensor(state)) return [['h', state]];
  const entries = Object.entries(state as Record<string, Tensor>);
  return Array.isArray(state)
    ? entries.map(([i, t]) => [`list.${i}`, t])
    : entries.map(([n, t]) => [`of.${n}`, t]);
}

function fromParts(parts: readonly (readonly [string, Tensor])[]): unknown {
  if (parts.length === 1 && parts[0][0] === 'h') return parts[0][1];
  if (parts.every(([name]) => name.startsWith('list.'))) return parts.map(([, t]) => t);
  return Object.fromEntries(parts.map(([name, t]) => [name.replace(/^of\./, ''), t]));
}

/** Copies outside the tape that outlive the scope. */
function keptCopy<S>(state: S | undefined): S | undefined {
  if (state === undefined) return undefined;
  return fromParts(partsOf(state).map(([name, t]) => [name, unscoped(() => t.detach().clone())])) as S;
}

function isTensor(value: unknown): value is Tensor {
  return typeof (value as Tensor | null)?.dataSync === 'function';
}

function joined(arrays: readonly Int32Array[]): Int32Array {
  const all = new Int32Array(arrays.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const array of arrays) {
    all.set(array, at);
    at += array.length;
  }
  return all;
}
