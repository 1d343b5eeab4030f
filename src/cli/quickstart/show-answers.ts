/** The answers that the quickstart shows: nearest neighbours of a word, and hypernyms that were held out. */
import { readGlosses } from '../../data/prepare/glosses.js';
import { nearestNodes, topLinks } from '../../predict/top-nodes.js';
import { type OpenedGraphRun, type Output, openRun } from '../../train/index.js';

/** Number of answers that are searched for the right one. */
const depth = 100;
const maxQuestions = 5;

export async function showAnswers(directory: string, output: Output): Promise<void> {
  const run = await openRun(directory, { command: 'quickstart', over: 'graph' });
  try {
    await showNeighbours(run, 'dog.n.01', output);
    await showHypernyms(run, output);
  } finally {
    await run.close();
  }
}

async function showNeighbours(run: OpenedGraphRun, name: string, output: Output): Promise<void> {
  const names = await run.dataset.nodeNames();
  const node = names.idOf(name);
  if (node === undefined) return;
  const near = await nearestNodes(run, node, { count: 8, skip: (id) => id === node });
  const found = near.map(({ id, score }) => ({ name: names.nameOf(id), score }));
  const glosses = await readGlosses(run.dataset.directory, new Set(found.map((one) => one.name)));
  output.text(`\nNearest to ${name}:`);
  for (const { name: other, score } of found)
    output.text(`  ${score.toFixed(2)}  ${other.padEnd(28)} ${shorten(glosses.get(other))}`);
  output.event('neighbours', { of: name, found });
}

/** Shows held-out hypernyms of the first synsets of the test set that have at least three training edges. */
async function showHypernyms(run: OpenedGraphRun, output: Output): Promise<void> {
  const [names, relations] = [await run.dataset.nodeNames(), await run.dataset.relationNames()];
  const hypernym = relations.idOf('hypernym');
  if (hypernym === undefined) return;
  const known = await run.storage.filterIndex();
  output.text('\nHypernyms ("is a kind of") that were held out of training (✓ marks the right answer):');
  for (const [head, tail] of await findHeldOut(run, hypernym)) {
    const others = new Set(known.lists(Int32Array.of(head), Int32Array.of(hypernym), true).ids);
    others.delete(tail);
    const skip = (id: number): boolean => id === head || others.has(id);
    const top = await topLinks(run, { node: head, relation: hypernym, want: 'tail', count: depth, skip });
    const rank = top.findIndex(({ id }) => id === tail) + 1;
    const found = top.slice(0, 3).map(({ id }) => names.nameOf(id));
    const [name, truth] = [names.nameOf(head), names.nameOf(tail)];
    const glosses = await readGlosses(run.dataset.directory, new Set([name, truth, ...found]));
    output.text(`  ${name}: ${shorten(glosses.get(name))}`);
    for (const guess of found)
      output.text(`    ${guess === truth ? '✓' : ' '} ${guess.padEnd(26)} ${shorten(glosses.get(guess))}`);
    if (!found.includes(truth))
      output.text(`      right: ${truth}, at rank ${rank === 0 ? `${depth + 1} or later` : rank}`);
    output.event('hypernyms', { of: name, right: truth, place: rank === 0 ? null : rank, found });
  }
}

/** Returns held-out edges of a relation whose source has at least three training edges. */
async function findHeldOut({ dataset }: OpenedGraphRun, relation: number): Promise<[number, number][]> {
  const [train, test] = [await dataset.readEdges('train'), await dataset.readEdges('test')];
  const degree = new Int32Array(dataset.stats.num_nodes);
  for (let i = 0; i < train.length; i += 3) {
    degree[train[i]]++;
    degree[train[i + 2]]++;
  }
  const chosen: [number, number][] = [];
  for (let i = 0; i < test.length && chosen.length < maxQuestions; i += 3)
    if (test[i + 1] === relation && degree[test[i]] >= 3) chosen.push([test[i], test[i + 2]]);
  return chosen;
}

/** Returns the definition without its examples, on one line. */
function shorten(gloss: string | undefined): string {
  const definition = (gloss ?? '').split('; "')[0];
  return definition.length > 78 ? `${definition.slice(0, 77)}…` : definition;
}
