/** UMLS from $SKEIN_DATA as a prepared directory or, if it is missing, a generated graph with structure to learn. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepareDataset, preprocess } from 'skein/data';
import { Random } from 'skein/util';

/** Prepares the dataset in `folder`/data and returns which one it is. */
export async function prepareLinks(folder: string): Promise<'umls' | 'generated'> {
  const outputDir = join(folder, 'data');
  if (existsSync(join(process.env['SKEIN_DATA'] ?? './data', 'umls'))) {
    await prepareDataset('umls', { outputDir, download: false });
    return 'umls';
  }
  // Relation r leads from group g of the nodes to group g + r; half of those edges exist.
  const random = new Random(1);
  const lines: string[] = [];
  for (let src = 0; src < 100; src++)
    for (let r = 0; r < 7; r++)
      for (let dst = (src + r) % 10; dst < 100; dst += 10)
        if (random.nextFloat() < 0.5) lines.push(`n${src}\tr${r}\tn${dst}\n`);
  const edges = join(folder, 'edges.tsv');
  writeFileSync(edges, lines.join(''));
  await preprocess({ edges, outputDir, split: [0.8, 0.1, 0.1], inProcess: true });
  return 'generated';
}
