/** A pass over edges finds the ends that an index of all edges finds. */
import { expect, test } from 'vitest';
import { Random } from '../../../util/philox.js';
import { FilterIndex } from './filter-index.js';
import { trueEndsOf } from './stream-filter.js';

test.each([0, 3])('the same lists as the index, %i relations', async (numRelations) => {
  const random = new Random(5);
  const ids = (count: number, below: number) =>
    Int32Array.from({ length: count }, () => random.nextInt(below));
  const list = (count: number) => ({
    src: ids(count, 40),
    dst: ids(count, 40),
    relations: numRelations === 0 ? null : ids(count, numRelations),
  });
  const pieces = [list(150), list(1), list(0), list(200)];
  // Some edges twice, some questions without an answer.
  const asked = { ...list(60) };
  asked.src.set(pieces[0].src.subarray(0, 30));
  const index = new FilterIndex(pieces, 40, Math.max(1, numRelations));
  async function* edges() {
    yield* pieces;
  }
  const { destinations, sources } = await trueEndsOf(asked, edges(), 40);
  expect(destinations).toEqual(index.lists(asked.src, asked.relations, true));
  expect(sources).toEqual(index.lists(asked.dst, asked.relations, false));
});
