/** Prints the answers of `skein query`. */
import type { ClassifiedName, RankedName } from '../../predict/index.js';
import type { Output } from '../../train/index.js';
import { kindOf, type Question } from './questions.js';

/** Glosses of nodes by name; see `readGlosses`. */
type Glosses = ReadonlyMap<string, string>;

/** Returns the question as one line. */
export function titleOf(question: Question, onlyRelation: string | undefined): string {
  const kind = kindOf(question);
  const { head, tail, neighbors, classify, time } = question;
  if (kind === 'neighbors') return `nearest to ${neighbors}`;
  if (kind === 'classify') return `class of ${classify}`;
  const middle = question.relation ?? onlyRelation ?? '→';
  const at = time === undefined ? '' : `  at ${time}`;
  return kind === 'head' ? `${head}  ${middle}  ?${at}` : `?  ${middle}  ${tail}${at}`;
}

/** An answer as it is printed with `--json`. */
type Row = RankedName & { readonly rank: number; readonly gloss?: string };

/** Prints a ranking; returns its rows. */
export function printRanked(
  output: Output,
  title: string,
  own: string,
  ranked: readonly RankedName[],
  glosses: Glosses,
): Row[] {
  const gloss = glosses.get(own);
  output.text(gloss === undefined ? title : `${title}    (${gloss})`);
  const rows = ranked.map((answer, i): Row => {
    const text = glosses.get(answer.name);
    return { rank: i + 1, ...answer, ...(text === undefined ? {} : { gloss: text }) };
  });
  const width = Math.max(0, ...rows.map(({ name }) => name.length));
  for (const { rank, name, score, probability, known, gloss: text } of rows) {
    const cells = [String(rank).padStart(4), name.padEnd(width), score.toFixed(4).padStart(9)];
    if (probability !== undefined) cells.push(`p ${probability.toFixed(3)}`);
    if (known === true) cells.push('known');
    if (text !== undefined) cells.push(text);
    output.text(cells.join('  '));
  }
  if (rows.length === 0)
    output.text('  no answer: every candidate is known. Use --include-known or --all-candidates.');
  return rows;
}

/** Prints the class of a node and the most likely classes; returns them. */
export function printClassified(
  output: Output,
  title: string,
  { name, class: best, probabilities }: ClassifiedName,
  { classes, k }: { readonly classes: readonly string[]; readonly k: number },
): Readonly<Record<string, unknown>> {
  const order = Array.from(probabilities.keys()).sort((a, b) => probabilities[b] - probabilities[a] || a - b);
  const ranked = order.slice(0, k).map((id) => ({
    class: classes[id] ?? String(id),
    probability: Number(probabilities[id].toFixed(6)),
  }));
  output.text(title);
  const width = Math.max(...ranked.map((row) => row.class.length));
  for (const [i, row] of ranked.entries())
    output.text(`${String(i + 1).padStart(4)}  ${row.class.padEnd(width)}  p ${row.probability.toFixed(3)}`);
  return { name, class: best, probabilities: ranked };
}
