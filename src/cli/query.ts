/** The work of `skein query`: asks a trained run by raw names, and answers with names. */
import { typedName } from '../data/formats/node-types.js';
import { type NameTable, readGlosses, TypedNames } from '../data/index.js';
import {
  LinkPredictionModel,
  nearestNodes,
  type OpenedGraphRun,
  Output,
  openRun,
  type ScoredNode,
  topLinks,
} from '../train/index.js';
import { ValueError } from '../util/errors.js';
import { invocation } from '../util/invocation.js';
import { nearestWords } from '../util/nearest.js';

export interface QueryCommand {
  readonly head?: string;
  readonly tail?: string;
  readonly relation?: string | undefined;
  readonly neighbors?: string;
  readonly top: number;
  readonly includeKnown: boolean;
  readonly json: boolean;
  readonly set: readonly string[];
}

interface Answer extends ScoredNode {
  /** Whether the edge is one of the graph's. */
  readonly known?: boolean;
}

export async function queryCommand(path: string, command: QueryCommand): Promise<void> {
  const output = new Output({ json: command.json });
  const asked = (['head', 'tail', 'neighbors'] as const).filter((name) => command[name] !== undefined);
  if (asked.length !== 1)
    throw new ValueError(
      `query: expected one of --head, --tail and --neighbors, got ${asked.length === 0 ? 'none' : asked.map((name) => `--${name}`).join(' and ')}. --head asks for tails, --tail for heads.`,
    );
  const [kind] = asked;
  const run = await openRun(path, {
    ...{ command: 'query', over: 'graph' },
    advice: `Ask for the likeliest destinations with "${invocation()} serve --temporal <run>" and POST /recommend, or score pairs with "${invocation()} predict <run> --input-file <file>".`,
    overrides: command.set,
    onWarning: (message) => output.warn(message),
  });
  try {
    const names = await run.dataset.nodeNames();
    const raw = command[kind] as string;
    const asking = { ...command, relation: await relationNamed(run, command.relation, kind) };
    const node = idOf(names, `--${kind}`, raw, 'an entity', sides[kind]);
    const answers =
      kind === 'neighbors'
        ? await nearestNodes(run, node, { count: command.top, skip: (id) => id === node })
        : await linked(run, asking, node, kind);
    await print(run, output, title(asking, kind, raw), raw, answers, names);
  } finally {
    await run.close();
  }
}

async function linked(
  run: OpenedGraphRun,
  command: QueryCommand,
  node: number,
  kind: 'head' | 'tail',
): Promise<Answer[]> {
  const want = kind === 'head' ? 'tail' : 'head';
  const relation = await relationOf(run, command.relation);
  const known = run.model instanceof LinkPredictionModel ? await knownEnds(run, node, relation, want) : null;
  const skip = command.includeKnown ? () => false : (id: number) => id === node || known?.has(id) === true;
  const found = await topLinks(run, { node, relation, want, count: command.top, skip });
  return command.includeKnown ? found.map((one) => ({ ...one, known: known?.has(one.id) === true })) : found;
}

/** Other ends of true edges, of all splits. */
async function knownEnds(
  { storage }: OpenedGraphRun,
  node: number,
  relation: number | null,
  want: 'head' | 'tail',
): Promise<Set<number>> {
  const relations = relation === null ? null : Int32Array.of(relation);
  const index = await storage.filterIndex();
  return new Set(index.lists(Int32Array.of(node), relations, want === 'tail').ids);
}

/** The relation that is asked about: where there is just one, it need not be named. */
async function relationNamed(
  { dataset }: OpenedGraphRun,
  given: string | undefined,
  kind: 'head' | 'tail' | 'neighbors',
): Promise<string | undefined> {
  if (given !== undefined || kind === 'neighbors' || !dataset.hasRelations) return given;
  const names = await dataset.relationNames();
  return names.size === 1 ? names.nameOf(0) : undefined;
}

async function relationOf({ dataset }: OpenedGraphRun, raw: string | undefined): Promise<number | null> {
  if (!dataset.hasRelations) {
    if (raw === undefined) return null;
    throw new ValueError(
      `query: expected no --relation for a graph whose edges have none, got ${JSON.stringify(raw)}. Leave it out.`,
    );
  }
  const names = await dataset.relationNames();
  if (raw !== undefined) return idOf(names, '--relation', raw, 'a relation');
  const some = Array.from({ length: Math.min(names.size, 8) }, (_, id) => names.nameOf(id)).sort();
  throw new ValueError(
    `query: expected a relation for --relation, got none. There are ${names.size}, for example ${some.join(', ')}.`,
  );
}

/** Where sources and destinations have ids of their own, the option says whose id it is. */
const sides = { head: 'src', tail: 'dst', neighbors: undefined } as const;

function idOf(names: NameTable, option: string, raw: string, what: string, side?: 'src' | 'dst'): number {
  const id = names.idOf(raw, side);
  if (id !== undefined) return id;
  const typed = names instanceof TypedNames ? names.types.map((type) => typedName(type, raw)) : [];
  const known = typed.filter((name) => names.idOf(name) !== undefined);
  const near = known.length > 0 ? known : nearestWords(raw, everyName(names));
  const advice =
    near.length > 0
      ? `Did you mean ${near.join(known.length > 0 ? ' or ' : ', ')}?`
      : names.size === 0
        ? 'There are none.'
        : `Names look like ${JSON.stringify(names.nameOf(0))}.`;
  throw new ValueError(
    `query: expected ${what} of the graph for ${option}, got ${JSON.stringify(raw)}. ${advice}`,
    { name: raw, suggestions: near },
  );
}

/** Of very large graphs the first million: a guess is worth a second, not a minute. */
function* everyName(names: NameTable): Generator<string> {
  const count = Math.min(names.size, 1_000_000);
  for (let id = 0; id < count; id++) yield names.nameOf(id);
}

function title({ relation }: QueryCommand, kind: 'head' | 'tail' | 'neighbors', raw: string): string {
  if (kind === 'neighbors') return `nearest to ${raw}`;
  const middle = relation ?? '→';
  return kind === 'head' ? `${raw}  ${middle}  ?` : `?  ${middle}  ${raw}`;
}

async function print(
  run: OpenedGraphRun,
  output: Output,
  head: string,
  raw: string,
  answers: readonly Answer[],
  names: NameTable,
): Promise<void> {
  const named = answers.map(({ id, ...rest }, i) => ({ rank: i + 1, name: names.nameOf(id), ...rest }));
  const glosses = await readGlosses(run.dataset.directory, new Set([raw, ...named.map(({ name }) => name)]));
  const own = glosses.get(raw);
  output.text(own === undefined ? head : `${head}    (${own})`);
  const width = Math.max(0, ...named.map(({ name }) => name.length));
  const full = named.map((answer) => {
    const gloss = glosses.get(answer.name);
    return gloss === undefined ? answer : { ...answer, gloss };
  });
  for (const answer of full) {
    const gloss = 'gloss' in answer ? `  ${answer.gloss}` : '';
    const mark = answer.known === true ? '  known' : '';
    const score = answer.score.toFixed(4).padStart(9);
    output.text(`${String(answer.rank).padStart(4)}  ${answer.name.padEnd(width)}  ${score}${mark}${gloss}`);
    output.event('answer', answer);
  }
  if (full.length === 0) output.text('  no answer: every candidate is known. Use --include-known.');
  output.event('done', { query: head, answers: full });
}
