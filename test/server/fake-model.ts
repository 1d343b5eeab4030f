/** A predictor of links over any names, with a chosen cost per item, for tests of the server itself. */
import type { Predictor } from 'skein/predict';
import { ValueError } from 'skein/util';
import type { ModelSource } from '#internal/server/index.js';

export interface FakeModel extends ModelSource {
  /** Number of items of each call. */
  readonly calls: number[];
  closed: number;
}

export interface FakeOptions {
  readonly name?: string;
  readonly path?: string;
  /** Milliseconds of computing per item. */
  readonly ms?: number;
  /** Milliseconds of waiting per call. */
  readonly delay?: number;
}

export function fakeModel({
  name = 'fake',
  path = '/nowhere',
  ms = 0,
  delay = 0,
}: FakeOptions = {}): FakeModel {
  const calls: number[] = [];
  const work = async (count: number): Promise<void> => {
    calls.push(count);
    const end = performance.now() + ms * count;
    while (performance.now() < end);
    if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
  };
  const unused = (): never => {
    throw new Error('not used');
  };
  const model: FakeModel = {
    ...{ name, path, calls, closed: 0 },
    open: async () => {
      const version = calls.length;
      const predictor: Predictor = {
        ...{
          kind: 'links',
          answers: ['score', 'rank', 'neighbors'],
          classes: [],
          metrics: {},
          calibrated: false,
        },
        score: async (edges: unknown) => {
          const list = edges as { head: string; tail: string }[];
          await work(list.length);
          const wrong = list.findIndex(({ head }) => head === 'unknown');
          if (wrong >= 0)
            throw new ValueError(`score: expected a known name for edges[${wrong}].head, got "unknown".`);
          if (list.some(({ head }) => head === 'broken')) throw new Error(`secret ${import.meta.url}`);
          return Float32Array.from(list, ({ tail }) => Number(tail)) as never;
        },
        rank: async (questions: unknown) => {
          const list = questions as object[];
          await work(list.length);
          return list.map(() => [{ name: `answer ${version}`, score: 1 }]) as never;
        },
        neighbors: async (names: unknown) => {
          await work((names as unknown[]).length);
          return (names as string[]).map((one) => [{ name: one, score: 1 }]) as never;
        },
        ...{ classify: unused, embed: unused, recommend: unused, explain: unused, append: unused },
        close: async () => {
          model.closed++;
        },
      };
      return { predictor, stream: null };
    },
  };
  return model;
}
