/**
 * The messages that docs/faq.md quotes: each is an instance of a text in the sources. Values in a text are placeholders, which
 * match anything; a text counts only with enough characters of its own.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { expect, test } from 'vitest';
import { root } from '../programs.js';

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

const value = '\0';

const isNode = (given: unknown): given is Node =>
  typeof given === 'object' && given !== null && typeof (given as Node).type === 'string';

/** Returns the text that an expression makes, with `value` for what is only known when it runs. */
function textOf(node: Node): string {
  if (node.type === 'Literal') return typeof node['value'] === 'string' ? node['value'] : value;
  if (node.type === 'TemplateLiteral')
    return (node['quasis'] as { value: { cooked: string } }[]).map((one) => one.value.cooked).join(value);
  if (node.type === 'BinaryExpression' && node['operator'] === '+')
    return textOf(node['left'] as Node) + textOf(node['right'] as Node);
  return value;
}

/** The texts of a file: literals, sums of them, and calls of `expected` of src/util/errors.ts. */
function textsIn(node: Node, found: string[]): void {
  if (['Literal', 'TemplateLiteral', 'BinaryExpression'].includes(node.type)) found.push(textOf(node));
  if (node.type === 'CallExpression' && (node['callee'] as Node)['name'] === 'expected') {
    const [where, what, name, , advice] = (node['arguments'] as Node[]).map(textOf);
    found.push(`${where}: expected ${what} for ${name}, got ${value}.${advice ? ` ${advice}` : ''}`);
  }
  for (const child of Object.values(node).flat()) if (isNode(child)) textsIn(child, found);
}

const leastCharacters = 25;

/** Patterns of all texts in src that have enough characters of their own. */
function patterns(): RegExp[] {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  );
  const texts = files.flatMap((file) => {
    const found: string[] = [];
    textsIn(parseSync(file, readFileSync(join(root, 'src', file), 'utf8')).program as unknown as Node, found);
    return found;
  });
  return [...new Set(texts)]
    .filter((text) => text.replaceAll(value, '').length >= leastCharacters)
    .map((text) => {
      const parts = text.split(value).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
      // Advice at the end may be left out.
      return new RegExp(`^${parts.join('.+?').replace(/ \.\+\?$/, '(?: .+)?')}$`, 's');
    });
}

const page = readFileSync(join(root, 'docs/faq.md'), 'utf8');
const quoted = [...page.matchAll(/^```text\n([\s\S]*?)\n```$/gm)].map(([, text]) => text);
const known = patterns();

test('the page quotes messages', () => {
  expect(quoted.length).toBeGreaterThan(15);
});

test.each(quoted)('%s', (message) => {
  expect(known.some((pattern) => pattern.test(message))).toBe(true);
});

test('a message that is not in the sources is found', () => {
  for (const text of [
    'query: expected a fish, got none. Try again with another one.',
    'run: something failed',
  ])
    expect(known.some((pattern) => pattern.test(text))).toBe(false);
});
