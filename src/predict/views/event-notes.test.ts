/** Sentences about streams: pairs, gaps, days and nodes, with and without dates. */
import { expect, it } from 'vitest';
import { eventFacts } from './event-facts.js';

const nodes = { size: 4, nameOf: (id: number): string => `n${id}` };
const start = Date.UTC(2024, 2, 1) / 1000;

const notesOf = (rows: readonly (readonly [src: number, dst: number, time: number])[]): readonly string[] =>
  eventFacts(
    {
      src: Int32Array.from(rows, ([src]) => src),
      dst: Int32Array.from(rows, ([, dst]) => dst),
      time: Float64Array.from(rows, ([, , time]) => time),
    },
    nodes,
  ).notes;

it('describes a stream with dates', () => {
  const hour = 3600;
  const rows = [
    [0, 1, start],
    [0, 1, start + hour],
    [0, 2, start + 72 * hour],
    [0, 1, start + 73 * hour],
    [0, 0, start + 74 * hour],
  ] as const;
  expect(notesOf(rows)).toEqual([
    '40.0 % of the events repeat an earlier pair of nodes.',
    'The longest time without an event is 3 days, from 2024-03-01 01:00 UTC: 95.9 % of the whole.',
    'The busiest day is 2024-03-04 with 3 events, 2.4 times the mean of a day.',
    'n0 takes part in 5 events (100.0 %), the most of all nodes; the 3 nodes with the most events are in 100.0 %.',
  ]);
});

it('names no days where times are not dates, and no gap where all times are equal', () => {
  expect(
    notesOf([
      [1, 2, 0],
      [1, 3, 10],
      [1, 2, 40],
    ]),
  ).toEqual([
    '33.3 % of the events repeat an earlier pair of nodes.',
    'The longest time without an event is 30, from 10: 75.0 % of the whole.',
    'n1 takes part in 3 events (100.0 %), the most of all nodes; the 3 nodes with the most events are in 100.0 %.',
  ]);
  expect(
    notesOf([
      [1, 1, 5],
      [1, 1, 5],
    ]),
  ).toEqual([
    '50.0 % of the events repeat an earlier pair of nodes.',
    'n1 takes part in 2 events (100.0 %), the most of all nodes.',
  ]);
});

it('says nothing about a stream without events', () => {
  expect(notesOf([])).toEqual([]);
});
