/** Small runs of every task, for the tests of the page. */
import { join } from 'node:path';
import { fitEvents, fitLinks, fitNodes } from 'skein/predict';

/** Facts about people and cities: each person works where they live, which a model can learn. */
export function facts(): [string, string, string][] {
  const rows: [string, string, string][] = [];
  for (let i = 0; i < 60; i++) {
    const city = `city ${i % 6}`;
    rows.push([`person ${i}`, 'lives in', city], [`person ${i}`, 'works in', city]);
    rows.push(
      [`person ${i}`, 'knows', `person ${(i + 6) % 60}`],
      [`person ${i}`, 'knows', `person ${(i + 12) % 60}`],
    );
  }
  return rows;
}

const makers = {
  links: (directory: string) => fitLinks(facts(), { epochs: 30, directory }),
  short: (directory: string) => fitLinks(facts(), { epochs: 8, seed: 2, directory }),
  nodes: (directory: string) => {
    const nodes = Array.from({ length: 80 }, (_, i) => ({
      ...{ id: `n${i}`, x: i % 2, y: (i * 7) % 5 },
      kind: i % 2 ? 'odd' : 'even',
    }));
    const edges = nodes.map(({ id }, i): [string, string] => [id, `n${(i + 2) % 80}`]);
    return fitNodes({ nodes, edges }, { label: 'kind', epochs: 20, directory });
  },
  events: (directory: string) => {
    const stream = Array.from({ length: 300 }, (_, i) => ({
      ...{ head: `u${i % 7}`, tail: `v${(i * 3) % 5}`, time: 1_700_000_000 + 60 * i },
    }));
    return fitEvents(stream, { epochs: 1, directory });
  },
};

type RunName = keyof typeof makers;

/** Trains runs into folders of their names: two of links, one of nodes and one of events. */
export async function makeRuns(
  folder: string,
  names: readonly RunName[] = ['links', 'short', 'nodes', 'events'],
): Promise<void> {
  for (const name of names) await (await makers[name](join(folder, name))).close();
}
