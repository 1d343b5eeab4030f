/** Writes a small graph of two files, which shows the form of data that `skein preprocess` reads. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { csvField } from '../../data/formats/csv-text.js';
import { readGlosses } from '../../data/prepare/glosses.js';
import { writeFileAtomic } from '../../storage/atomic-file.js';
import type { OpenedGraphRun } from '../../train/index.js';

/** Number of edges of the example. */
const maxEdges = 2000;

/** Writes edges.csv (head, relation, tail) and nodes.csv (id, text) into the folder: the first training edges and their nodes. */
export async function writeExampleFiles({ dataset }: OpenedGraphRun, folder: string): Promise<void> {
  const [names, relations] = [await dataset.nodeNames(), await dataset.relationNames()];
  const edges = (await dataset.readEdges('train')).subarray(0, 3 * maxEdges);
  const nodes = new Set<string>();
  let edgeLines = 'head,relation,tail\n';
  for (let i = 0; i < edges.length; i += 3) {
    const [head, tail] = [names.nameOf(edges[i]), names.nameOf(edges[i + 2])];
    nodes.add(head).add(tail);
    edgeLines += `${[head, relations.nameOf(edges[i + 1]), tail].map((name) => csvField(name, ',')).join(',')}\n`;
  }
  const glosses = await readGlosses(dataset.directory, nodes);
  let nodeLines = 'id,description\n';
  for (const name of nodes) nodeLines += `${csvField(name, ',')},${csvField(glosses.get(name) ?? '', ',')}\n`;
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string) =>
    writeFileAtomic(join(folder, name), new TextEncoder().encode(text));
  await write('edges.csv', edgeLines);
  await write('nodes.csv', nodeLines);
}
