/**
 * Code blocks of a Markdown page. A comment directly above a block says how it is tested:
 *
 *   <!-- run: workers -->                TypeScript is executed by two workers under mpirun
 *   <!-- run: gpu -->                    TypeScript is executed where there is a WebGPU adapter (test/gpu/pages.test.ts)
 *   <!-- run: server -->                 `skein serve` runs until the end of the block, and its `curl` requests must succeed
 *   <!-- run: types; needs a browser --> TypeScript is type-checked, YAML is not read; the text is the reason
 *   <!-- run: options; takes minutes --> commands are not executed; their names, options and example files must exist
 *
 * Every other block is executed (run-page.ts).
 */
import { readFileSync } from 'node:fs';

export type Run = 'execute' | 'workers' | 'gpu' | 'server' | 'types' | 'options';

export interface Block {
  readonly language: string;
  readonly text: string;
  /** Line of the page where the block starts, from 1. */
  readonly line: number;
  readonly run: Run;
  /** Name of the file that a first line such as `// points.ts` or `# own.yaml` gives, else null. */
  readonly file: string | null;
}

/** Languages of blocks that are tested, and of those that are not: output, and files of other programs. */
const tested = ['ts', 'js', 'sh', 'yaml'];
const languages: ReadonlySet<string> = new Set([...tested, 'text', 'dockerfile', 'python']);

/** Reads the fenced blocks of a page that have a language. */
export function readBlocks(path: string): Block[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  const blocks: Block[] = [];
  for (let i = 0; i < lines.length; i++) {
    if (/^(?: +|\t)```|^\s*~~~/.test(lines[i]))
      throw new Error(`${path}:${i + 1}: expected a block that starts with \`\`\` in the first column.`);
    const [, language] = /^```(\w+)/.exec(lines[i]) ?? [];
    if (lines[i].startsWith('```')) {
      const end = lines.indexOf('```', i + 1);
      if (end < 0) throw new Error(`${path}:${i + 1}: expected the end of a block, got the end of the page.`);
      const text = `${lines.slice(i + 1, end).join('\n')}\n`;
      if (language !== undefined && !languages.has(language))
        throw new Error(`${path}:${i + 1}: expected one of ${[...languages].join(', ')}, got ${language}.`);
      if (language !== undefined && tested.includes(language))
        blocks.push({ language, text, line: i + 1, run: runOf(path, lines, i), file: fileOf(text) });
      i = end;
    }
  }
  return blocks;
}

function runOf(path: string, lines: readonly string[], at: number): Run {
  const above = lines[at - 1]?.trim() === '' ? lines[at - 2] : lines[at - 1];
  const comment = /^<!-- run: (.*) -->$/.exec(above?.trim() ?? '');
  if (comment === null) return 'execute';
  const [, run] = /^(workers|gpu|server|types(?=; .)|options(?=; .))(?:; .*)?$/.exec(comment[1]) ?? [];
  if (run === undefined)
    throw new Error(
      `${path}:${at}: expected workers, gpu, server, or types or options with a reason, got "${comment[1]}". Write <!-- run: types; needs a browser -->.`,
    );
  return run as Run;
}

function fileOf(text: string): string | null {
  return /^(?:\/\/|#) (\S+\.(?:js|mjs|ts|yaml|csv|tsv))\n/.exec(text)?.[1] ?? null;
}

/** The commands of a shell block: comments dropped, continued lines joined. */
export function commandsOf({ text }: Block): string[] {
  return text
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .map((line) =>
      line
        .replace(/(^|\s)#.*$/, '')
        .replace(/^\$ /, '')
        .trim(),
    )
    .filter((line) => line !== '');
}

/** Splits a command into arguments; quotes hold blanks together. */
export function argumentsOf(command: string): string[] {
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|((?:[^\s"']|(?<=\S)"[^"]*")+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain,
  );
}
