/** Small runs of every task, for the tests of the page. */
import { join } from 'node:path';
import { fitEvents, fitLinks, fitNodes } from 'skein/predict';

/** People and cities: who lives somewhere works there too, which a model can learn. */
function facts(): [string, string, string][] {
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

export async function makeRuns(folder: string): Promise<void> {
  await (await fitLinks(facts(), { epochs: 30, directory: join(folder, 'links') })).close();
  await (await fitLinks(facts(), { epochs: 8, seed: 2, directory: join(folder, 'short') })).close();
  const nodes = Array.from({ length: 80 }, (_, i) => ({
    id: `n${i}`,
    x: i % 2,
    y: (i * 7) % 5,
    kind: i % 2 ? 'odd' : 'even',
  }));
  const edges = nodes.map(({ id }, i): [string, string] => [id, `n${(i + 2) % 80}`]);
  await (
    await fitNodes({ nodes, edges }, { label: 'kind', epochs: 20, directory: join(folder, 'nodes') })
  ).close();
  const stream = Array.from({ length: 300 }, (_, i) => ({
    head: `u${i % 7}`,
    tail: `v${(i * 3) % 5}`,
    time: 1_700_000_000 + 60 * i,
  }));
  await (await fitEvents(stream, { epochs: 1, directory: join(folder, 'events') })).close();
}
