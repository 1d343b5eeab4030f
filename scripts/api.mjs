/**
 * Writes the public surface of the package to docs/api.txt, where a change of it shows in review: by subpath of
 * package.json's `exports`, each name with its kind and signature in one line. Prints how many names each subpath has.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { keyOf, readPublicApi, Sources, signatureOf } from './public-api.mjs';
import { root } from './steps.mjs';

/** The text of docs/api.txt. */
export function renderApi(sources, entries) {
  // The root repeats names of the other subpaths, which have the signatures.
  const [first, ...others] = entries;
  const describedIn = new Map();
  for (const entry of [...others, first]) {
    for (const declaration of entry.names.values())
      if (!describedIn.has(keyOf(declaration))) describedIn.set(keyOf(declaration), entry);
  }
  const blocks = entries.map((entry) => {
    const lines = [...entry.names].map(([name, declaration]) => {
      const { subpath } = describedIn.get(keyOf(declaration));
      const isHere = subpath === entry.subpath;
      const alias = declaration.name === name || declaration.name === '*' ? '' : ` = ${declaration.name}`;
      const text = isHere ? signatureOf(sources, declaration) : `${declaration.kind}, see ${subpath}`;
      return `  ${name}${alias}: ${text}`;
    });
    return [`${entry.subpath} (${entry.names.size})`, ...lines].join('\n');
  });
  return `The public names of the package, written by \`npm run api\`.\n\n${blocks.join('\n\n')}\n`;
}

/** Lines with the number of names per subpath and of different names in all. */
export function countNames(entries) {
  const all = new Set(entries.flatMap(({ names }) => [...names.keys()]));
  const lines = entries.map(({ subpath, names }) => `${String(names.size).padStart(6)}  ${subpath}`);
  return [...lines, `${String(all.size).padStart(6)}  different names in all`].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sources = new Sources(root);
  const entries = readPublicApi(root, sources);
  const file = join(root, 'docs/api.txt');
  const text = renderApi(sources, entries);
  let before = '';
  try {
    before = readFileSync(file, 'utf8');
  } catch {
    // Written for the first time.
  }
  if (before !== text) writeFileSync(file, text);
  console.log(countNames(entries));
  console.log(before === text ? 'docs/api.txt is up to date.' : 'docs/api.txt was rewritten.');
}
