/** Colours of relations in the drawing of a graph. */
import { expect, it } from 'vitest';
import { graphChart, relationSeries, seriesNames } from './graph-chart.js';

const nine = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];

it('gives each relation a colour of its own while there are enough', () => {
  const series = relationSeries(['rare', 'common', 'common']);
  expect([...series]).toEqual([
    ['common', 0],
    ['rare', 1],
  ]);
  expect(seriesNames(relationSeries(nine.slice(1)))).toEqual(nine.slice(1));
});

it('lets the rarest relations share the last colour, which the legend names', () => {
  const series = relationSeries([...nine, ...nine.slice(0, 7)]);
  expect([series.get('g'), series.get('h'), series.get('i')]).toEqual([6, 7, 7]);
  expect(seriesNames(series)).toEqual([...nine.slice(0, 7), 'other relations']);
});

it('draws a legend of every colour', () => {
  const nodes = nine.map((name, i) => ({ name, distance: i === 0 ? 0 : 1 }));
  const edges = nine.map((_, relation) => ({ from: 0, to: relation, relation }));
  const { body } = graphChart({ title: '', nodes, edges, relations: nine.map((name) => `to ${name}`) });
  expect(body).toContain('>other relations<');
  expect(body).toContain('>to g<');
});
