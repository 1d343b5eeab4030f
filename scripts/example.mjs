/** Runs a program of examples/ on the sources: `npm run example -- <name> [arguments]`; without a name, lists them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './steps.mjs';

const folder = join(root, 'examples');
const names = existsSync(folder)
  ? readdirSync(folder, { recursive: true })
      .map((file) => file.replaceAll('\\', '/'))
      .filter((file) => file.endsWith('.ts') && !/^shared\/|\/page\.ts$/.test(file))
      .map((file) => file.slice(0, -3))
      .sort()
  : [];
const [name, ...args] = process.argv.slice(2);

/** First sentence of the example's header comment. */
function summary(example) {
  const header =
    readFileSync(join(folder, `${example}.ts`), 'utf8').match(/\/\*\*?([\s\S]*?)\*\//)?.[1] ?? '';
  return header
    .replace(/\s*\n\s*\*?\s*/g, ' ')
    .trim()
    .split(/(?<=\.)\s/)[0];
}

if (name === undefined) {
  console.log('Run one with `npm run example -- <name>`:');
  for (const example of names) console.log(`  ${example.padEnd(26)} ${summary(example)}`);
} else if (!names.includes(name)) {
  console.error(`example: expected one of ${names.join(', ') || '(none)'} for <name>, got ${name}.`);
  process.exitCode = 2;
} else {
  const tsx = join(root, 'node_modules', '.bin', 'tsx');
  process.exitCode = run(tsx, [join(folder, `${name}.ts`), ...args], { show: true }).code;
}
