/**
 * Runs an example on the sources: `npm run example -- <name> [arguments]`; without a name, lists them; with --help,
 * describes one.
 */
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

/** Returns the example's header comment, without its asterisks. */
function header(example) {
  const text = readFileSync(join(folder, `${example}.ts`), 'utf8').match(/\/\*\*?([\s\S]*?)\*\//)?.[1] ?? '';
  return text.replace(/^ *\* ?/gm, '').trim();
}

const summary = (example) =>
  header(example)
    .replace(/\s+/g, ' ')
    .split(/(?<=\.)\s/)[0];

if (name === undefined) {
  console.log('Run one with `npm run example -- <name>`:');
  for (const example of names) console.log(`  ${example.padEnd(26)} ${summary(example)}`);
} else if (!names.includes(name)) {
  console.error(`example: expected one of ${names.join(', ') || '(none)'} for <name>, got ${name}.`);
  process.exitCode = 2;
} else if (args.includes('--help') || args.includes('-h')) {
  const text = header(name);
  console.log(
    text.includes('npm run example') ? text : `${text}\n  npm run example -- ${name} [--seed 3] [--json]`,
  );
} else {
  const tsx = join(root, 'node_modules', '.bin', 'tsx');
  process.exitCode = run(tsx, [join(folder, `${name}.ts`), ...args], { show: true }).code;
}
