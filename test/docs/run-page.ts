/** Runs the blocks of a page as the page shows them; page.ts says how blocks are marked. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { transformSync } from 'esbuild';
import { expect, vi } from 'vitest';
import { loadRunConfig } from '#internal/train/load-run-config.js';
import { launch } from '../dist/launch.js';
import { root, skein } from '../programs.js';
import { argumentsOf, type Block, commandsOf, readBlocks } from './page.js';
import { runServed } from './run-served.js';
import { type Setup, setups } from './setups.js';

/** README.md and every page of docs/, by path from the root. docs/site has no pages, only the programs that build the site. */
export const pages: readonly string[] = ['README.md', ...markdownFiles('docs')];

function markdownFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name).replaceAll('\\', '/'))
    .filter((name) => !name.startsWith('docs/site/'))
    .sort();
}

/** Commands that install, build or start other programs; they are not the page's subject. */
const foreign =
  /^(npm|npx(?! skein)|pnpm|yarn|bun|git|cd|mkdir|sudo|apt-get|module|mpirun|srun|ssh|curl|docker|export|make|node|kill|sbatch)\b/;

export const setupOf = (page: string): Setup => setups[page] ?? {};

export const segmentsOf = (page: string): Block[][] => segments(readBlocks(join(root, page)));

/** Consecutive TypeScript blocks, or one block of another language. A block that names a file is separate. */
function segments(blocks: readonly Block[]): Block[][] {
  const found: Block[][] = [];
  for (const block of blocks) {
    const last = found.at(-1)?.at(-1);
    const continues =
      last !== undefined &&
      last.language === 'ts' &&
      block.language === 'ts' &&
      last.file === null &&
      block.file === null &&
      last.run === block.run;
    if (continues) found.at(-1)?.push(block);
    else found.push([block]);
  }
  return found;
}

export function describeSegment([{ language, run, file }]: readonly Block[]): string {
  if (run === 'types') return `${language}, types only`;
  if (run === 'workers' || run === 'gpu' || run === 'server') return `${language}, ${run}`;
  if (run === 'options') return 'commands and options exist';
  return file ?? language;
}

export async function runSegment(
  segment: readonly Block[],
  page: string,
  folder: string,
  prelude: string,
): Promise<void> {
  const [block] = segment;
  if (block.language === 'ts' || block.language === 'js') {
    if (block.run === 'types') return;
    if (block.run === 'workers')
      return runOnWorkers(moduleName(page, block), moduleText(segment, prelude), folder);
    if (block.language === 'js' && block.file === null)
      throw new Error(`${page}:${block.line}: expected the name of a file in the first line of a js block.`);
    const name = block.file ?? moduleName(page, block);
    if (block.file === null) writeFile(folder, name, moduleText(segment, prelude));
    // A plugin is loaded by the command that names it.
    if (block.language === 'ts') await runModule(join(folder, name));
  } else if (block.run === 'server') await runServed(commandsOf(block), folder);
  else if (block.language === 'sh') runCommands(block, folder);
  else if (block.language === 'yaml') checkYaml(block, folder);
}

/** Returns whether a segment needs MPI, which a machine may lack. */
export function needsMpi([{ run, language, text }]: readonly Block[]): boolean {
  return run === 'workers' || (run === 'execute' && language === 'sh' && /^(?:npx )?skein run /m.test(text));
}

/** Compiles the program next to the compiled tests, from where the package's name leads to dist/. */
async function runOnWorkers(name: string, text: string, cwd: string): Promise<void> {
  const { code } = transformSync(text, { loader: 'ts', format: 'esm', target: 'node20' });
  writeFile(join(root, '.cache', 'programs', 'test', 'docs'), name.replace(/\.ts$/, '.js'), code);
  const job = await launch(2, `test/docs/${name}`, [], { cwd });
  expect(job.code, job.err).toBe(0);
}

async function runModule(path: string): Promise<void> {
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  try {
    await import(path);
  } finally {
    log.mockRestore();
  }
}

function runCommands(block: Block, folder: string): void {
  for (const command of commandsOf(block)) {
    if (foreign.test(command)) continue;
    if (block.run === 'options') checkOptions(command);
    else runCommand(command, folder);
  }
}

/** Runs a command of `skein`; `> file` at its end writes what it prints. */
export function runCommand(command: string, folder: string): void {
  const done = spawnSync(process.execPath, [...skein, ...skeinArguments(command)], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, OMPI_MCA_mpi_yield_when_idle: '1' },
  });
  expect(done.status, `${command}\n${done.stdout}${done.stderr}`).toBe(0);
  const [, target] = / > (\S+)$/.exec(command) ?? [];
  if (target !== undefined) writeFile(folder, target, done.stdout);
}

function skeinArguments(command: string): string[] {
  const [program, ...args] = argumentsOf(command.replace(/^npx skein/, 'skein').replace(/ >.*$/, ''));
  expect(program, `${command}: expected a command of skein, or one of those that are not run`).toBe('skein');
  return args;
}

/** Checks that the command, its options and the example files that it names exist. */
function checkOptions(command: string): void {
  const args = skeinArguments(command.replace(/ -- .*$/, ''));
  const [name, ...rest] = args;
  const inner = name === 'run' ? rest.slice(rest.findIndex((one) => /^[a-z]+$/.test(one))) : args;
  const help = [name, ...inner.slice(0, 1).filter((one) => /^[a-z]/.test(one))]
    .map((one) => spawnSync(process.execPath, [...skein, one, '--help'], { encoding: 'utf8' }))
    .map(({ status, stdout }) => (status === 0 ? stdout : ''));
  expect(help, `${command}: no such command`).not.toContain('');
  for (const arg of args) {
    const [, option] = /^(--[a-z][\w-]*)(?:=|$)/.exec(arg) ?? [];
    if (option !== undefined) expect(help.join(''), `${command}: no option ${option}`).toContain(option);
    if (arg.startsWith('examples/'))
      expect(existsSync(join(root, arg)), `${command}: no file ${arg}`).toBe(true);
  }
}

/** A whole configuration must be valid; a fragment is written with `…` and skipped here. */
function checkYaml(block: Block, folder: string): void {
  if (block.run === 'types' || block.text.includes('…')) return;
  const name = block.file ?? 'block.yaml';
  writeFile(folder, name, block.text);
  expect(() => loadRunConfig(join(folder, name))).not.toThrow();
}

export function moduleName(page: string, { line }: Block): string {
  return `${page.replace(/[^\w]+/g, '-')}-${line}.ts`;
}

/** Blocks as one module: imports first and each name once, then the prelude, then the statements. */
export function moduleText(segment: readonly Block[], prelude: string): string {
  const imports = new Map<string, Set<string>>();
  const others = new Set<string>();
  const statements = [prelude, ...segment.map(({ text }) => text)].map((text) =>
    text.replace(
      /^import (?:\{([^}]*)\} from )?('[^']+'|[^;]*);\n/gm,
      (line, names: string | undefined, from: string) => {
        if (names === undefined) others.add(line);
        else {
          const known = imports.get(from) ?? new Set();
          imports.set(from, known);
          for (const one of names.split(',')) if (one.trim() !== '') known.add(one.trim());
        }
        return '';
      },
    ),
  );
  const lines = [...imports].map(([from, names]) => `import { ${[...names].join(', ')} } from ${from};\n`);
  return `${[...others].join('')}${lines.join('')}${statements.join('\n')}\nexport {};\n`;
}

export function writeFile(folder: string, name: string, text: string): void {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
