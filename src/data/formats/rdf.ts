/**
 * RDF files as statements of names: N-Triples and N-Quads with the reader of n-triples.ts; Turtle and TriG with the package
 * `n3`, which is optional. Names have the form that n-triples.ts describes in all formats.
 */
import { pipeline, Readable } from 'node:stream';
import { expected, FormatError, SkeinError, StateError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { TripleBuilder, type Triples } from '../triples.js';
import { type RdfStatement, readStatementLines, textDatatype } from './n-triples.js';
import { readChunks } from './text-lines.js';

/** Formats of RDF files. */
export type RdfFormat = 'n-triples' | 'n-quads' | 'turtle' | 'trig';

const endings: Readonly<Record<string, RdfFormat>> = {
  nt: 'n-triples',
  nq: 'n-quads',
  ttl: 'turtle',
  trig: 'trig',
};
const formats: readonly RdfFormat[] = Object.values(endings);

export interface RdfOptions {
  /** Default: by the extension .nt, .nq, .ttl or .trig, optionally followed by .gz. */
  readonly format?: RdfFormat;
  /** Absolute IRI that resolves relative ones in Turtle and TriG. Default: a relative IRI is an error. */
  readonly base?: string;
  /** Whether to keep statements whose object is a literal, such as a name or a number. Default true. */
  readonly literals?: boolean;
}

/** Returns the RDF format of a file by its extension; undefined if that is another. */
export function rdfFormatOf(path: string): RdfFormat | undefined {
  return endings[/\.([a-z]+)(?:\.gz)?$/i.exec(path)?.[1].toLowerCase() ?? ''];
}

/**
 * Reads the statements of an RDF file as facts. Those of named graphs are included; the names of the graphs are not.
 *
 * @example
 * const { entities, relations } = await readRdf('people.ttl', { literals: false });
 */
export async function readRdf(path: string, options: RdfOptions = {}): Promise<Triples> {
  const builder = new TripleBuilder();
  for await (const statements of readStatements(path, options))
    for (const [subject, predicate, object] of statements) builder.add(subject, predicate, object);
  return builder.finish();
}

/** Yields the statements of an RDF file, some at a time. */
export async function* readStatements(
  path: string,
  options: RdfOptions = {},
): AsyncGenerator<readonly RdfStatement[]> {
  checkOptionNames('readRdf', options, { format: true, base: true, literals: true });
  const { base, literals = true } = options;
  const format = options.format ?? rdfFormatOf(path);
  if (format === undefined || !formats.includes(format))
    throw new ValueError(
      expected('readRdf', `one of ${formats.join(', ')}`, 'format', options.format ?? path),
    );
  const isLines = format === 'n-triples' || format === 'n-quads';
  const all = isLines ? readStatementLines(path, format === 'n-quads') : readTurtle(path, format, base);
  for await (const statements of all)
    yield literals ? statements : statements.filter(([, , object]) => !object.startsWith('"'));
}

/** Terms of RDF/JS, of which n3's have more fields. */
interface Term {
  readonly termType: string;
  readonly value: string;
  readonly language?: string;
  readonly datatype?: Term;
}

interface Quad {
  readonly subject: Term;
  readonly predicate: Term;
  readonly object: Term;
  readonly graph: Term;
}

const blockRows = 4096;

async function* readTurtle(
  path: string,
  format: 'turtle' | 'trig',
  base: string | undefined,
): AsyncGenerator<RdfStatement[]> {
  const { StreamParser } = await importN3(path);
  const parser = new StreamParser({
    format: format === 'turtle' ? 'text/turtle' : 'application/trig',
    // Labels stay as they are in the file; n3 numbers the nodes that have none.
    blankNodePrefix: '_:',
    ...(base === undefined ? {} : { baseIRI: base }),
  });
  let block: RdfStatement[] = [];
  try {
    // The loop sees the errors of both streams.
    for await (const quad of pipeline(Readable.from(readText(path)), parser, () => {})) {
      block.push(statementOf(path, quad as Quad));
      if (block.length < blockRows) continue;
      yield block;
      block = [];
    }
  } catch (error) {
    throw formatError(path, error);
  }
  yield block;
}

async function* readText(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const chunk of readChunks(path)) yield decoder.decode(chunk, { stream: true });
  yield decoder.decode();
}

/** Names an error of n3 after the file and the line. */
function formatError(path: string, error: unknown): unknown {
  if (error instanceof SkeinError) return error;
  const { message, context } = error as Error & { context?: { line?: number } };
  const line = context?.line;
  const at = line === undefined ? path : `${path}:${line}`;
  const got = message.replace(/ on line \d+\.?$/, '').replace(/\.$/, '');
  return new FormatError(`${at}: expected RDF, got an error: ${got}.`, {
    path,
    ...(line === undefined ? {} : { line }),
  });
}

function statementOf(path: string, { subject, predicate, object, graph }: Quad): RdfStatement {
  return [nameOf(path, subject), nameOf(path, predicate), nameOf(path, object), nameOf(path, graph)];
}

const absolute = /^[A-Za-z][A-Za-z0-9+.-]*:/;

function nameOf(path: string, { termType, value, language, datatype }: Term): string {
  switch (termType) {
    case 'NamedNode':
      if (!absolute.test(value))
        throw new FormatError(
          `${path}: expected absolute IRIs, got ${JSON.stringify(value)}. Set base, or write @base into the file.`,
          { path },
        );
      return value;
    case 'BlankNode':
      return value.startsWith('_:') ? value : `_:${value}`;
    case 'DefaultGraph':
      return '';
    case 'Literal':
      if (language) return `"${value}"@${language.toLowerCase()}`;
      return datatype === undefined || datatype.value === textDatatype
        ? `"${value}"`
        : `"${value}"^^${nameOf(path, datatype)}`;
    default:
      throw new FormatError(
        `${path}: expected IRIs, blank nodes and literals, got a term of type ${termType}.`,
        { path },
      );
  }
}

async function importN3(path: string): Promise<typeof import('n3')> {
  try {
    return await import('n3');
  } catch (error) {
    throw new StateError(
      `${path}: expected the package n3, which reads Turtle and TriG, got ${(error as Error).message.split('\n')[0]}. Run "npm install n3"; N-Triples and N-Quads need no package.`,
      { package: 'n3' },
      { cause: error },
    );
  }
}
