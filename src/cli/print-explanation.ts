/** Prints an explanation as text. */
import type {
  EventExplanation,
  Explanation,
  LinkExplanation,
  NamedEdge,
  NamedPath,
  NodeExplanation,
} from '../predict/index.js';
import type { Output } from '../train/index.js';

export function printExplanation(output: Output, found: Explanation): void {
  if (found.kind === 'node') printNode(output, found);
  else if (found.kind === 'link') printLink(output, found);
  else printEvent(output, found);
  const { plus, minus, sparsity, unit } = found.fidelity;
  output.text();
  output.text(
    `fidelity+ ${plus.toFixed(4)} and fidelity- ${minus.toFixed(4)} (${unit} lost without the reasons, and with them alone), sparsity ${sparsity.toFixed(2)}`,
  );
  if (found.sanity === undefined) return;
  const { correlation, compared } = found.sanity;
  output.text(
    correlation === null
      ? `sanity      too few different weights to compare (${compared})`
      : `sanity      rank correlation ${correlation.toFixed(2)} with a model of random parameters, over ${compared} weights`,
  );
}

function printNode(output: Output, found: NodeExplanation): void {
  output.text(`${found.node} is ${found.class}  (p ${found.probability.toFixed(3)}, method ${found.method})`);
  list(output, 'edges', found.edges, edgeText);
  list(output, 'features, of all nodes of the neighbourhood together', found.features, ({ name }) => name);
}

function printLink(output: Output, found: LinkExplanation): void {
  const probability = found.probability === undefined ? '' : `, p ${found.probability.toFixed(3)}`;
  output.text(`${edgeText(found)}  (score ${found.score.toFixed(4)}${probability}, method ${found.method})`);
  list(output, 'facts', found.facts, edgeText);
  if (found.paths.length > 0) output.text('  paths');
  for (const path of found.paths) output.text(pathText(path));
  list(output, 'words', found.words ?? [], ({ word, column }) => `"${word}" (${column})`);
}

function printEvent(output: Output, found: EventExplanation): void {
  output.text(
    `${found.head}  →  ${found.tail}  at ${found.time}  (score ${found.score.toFixed(4)}, method ${found.method})`,
  );
  list(output, 'past events', found.events, ({ head, tail, time }) => `${head}  →  ${tail}  at ${time}`);
}

function list<T extends { readonly weight: number }>(
  output: Output,
  title: string,
  rows: readonly T[],
  textOf: (row: T) => string,
): void {
  if (rows.length === 0) return;
  output.text(`  ${title}`);
  for (const row of rows) output.text(`${row.weight.toFixed(4).padStart(12)}  ${textOf(row)}`);
}

function edgeText({ head, relation, tail }: NamedEdge): string {
  return `${head}  ${relation ?? '→'}  ${tail}`;
}

function pathText({ edges, confidence, support, pairs }: NamedPath): string {
  return `${confidence.toFixed(4).padStart(12)}  ${edges.map(edgeText).join(', ')}  (${support} of ${pairs} pairs)`;
}
