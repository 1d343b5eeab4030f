/** Glosses of the nodes of a prepared graph: `nodes/glosses.csv`, lines `raw,gloss`. WordNet has them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { splitLine } from '../formats/split-line.js';
import { readLines } from '../formats/text-lines.js';

/** Reads the glosses of the requested names, by name; none if the directory has no such file. */
export async function readGlosses(
  directory: string,
  wanted: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const path = join(directory, 'nodes', 'glosses.csv');
  if (!existsSync(path)) return found;
  for await (const { lines } of readLines(path)) {
    for (const line of lines) {
      if (line === '') continue;
      const [name, gloss] = splitLine(line, ',');
      if (wanted.has(name)) found.set(name, gloss);
    }
  }
  return found;
}
