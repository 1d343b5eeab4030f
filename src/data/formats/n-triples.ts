/**
 * N-Triples and N-Quads (.nt, .nq, also .gz): one RDF statement per line.
 * Grammar: W3C "RDF 1.1 N-Triples" and "RDF 1.1 N-Quads" (2014). As in W3C's test suites, IRIs are absolute and labels of blank
 * nodes have no colon.
 *
 * Names: IRIs without brackets, blank nodes as `_:label`, literals unescaped, with quotes and `@language` or `^^datatype`, so
 * that equal names are equal terms. Datatypes are not interpreted; that of plain text is left out.
 */
import { FormatError } from '../../util/errors.js';
import { TripleBuilder, type Triples } from '../triples.js';
import { readLines } from './text-lines.js';

/** Names of subject, predicate and object, and of the graph; '' is the default graph. */
export type RdfStatement = readonly [subject: string, predicate: string, object: string, graph: string];

const letters =
  'A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\u{10000}-\u{effff}_0-9';
const more = `${letters}\u00b7\u0300-\u036f\u203f\u2040\\-`;

const blank = /[ \t]*/y;
const iri = /<((?:[^\p{Cc} <>"{}|^`\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*)>/uy;
const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/;
/** Characters that an escape must not bring into an IRI. */
const forbidden = /[\p{Cc} <>"{}|^`\\]/u;
const blankNode = new RegExp(`_:[${letters}](?:[${more}.]*[${more}])?`, 'uy');
const escaped = /\\(?:[tbnrf"'\\]|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})/y;
const language = /@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*/y;
const datatype = /\^\^/y;
const end = /\.[ \t]*(?:#.*)?$/y;

const escapes: Readonly<Record<string, string>> = { t: '\t', b: '\b', n: '\n', r: '\r', f: '\f' };

/** The datatype of literals without one. */
export const textDatatype = 'http://www.w3.org/2001/XMLSchema#string';

/** Reads all statements of a file. A line that violates the grammar is an error with file and line. */
export async function readNTriples(path: string): Promise<Triples> {
  const builder = new TripleBuilder();
  for await (const statements of readStatementLines(path, false))
    for (const [subject, predicate, object] of statements) builder.add(subject, predicate, object);
  return builder.finish();
}

/** Yields the statements of N-Triples, or with `quads` of N-Quads, some at a time. */
export async function* readStatementLines(path: string, quads: boolean): AsyncGenerator<RdfStatement[]> {
  for await (const { first, lines } of readLines(path)) {
    const statements: RdfStatement[] = [];
    for (let i = 0; i < lines.length; i++) {
      const parser = new LineParser(lines[i], path, first + i);
      if (parser.isEmpty()) continue;
      const subject = parser.iri() ?? parser.blankNode() ?? parser.fail('an IRI or a blank node as subject');
      const predicate = parser.iri() ?? parser.fail('an IRI as predicate');
      const object =
        parser.iri() ??
        parser.blankNode() ??
        parser.literal() ??
        parser.fail('an IRI, blank node or literal');
      const graph = quads ? (parser.iri() ?? parser.blankNode() ?? '') : '';
      parser.end();
      statements.push([subject, predicate, object, graph]);
    }
    yield statements;
  }
}

class LineParser {
  #at = 0;

  constructor(
    readonly text: string,
    readonly path: string,
    readonly line: number,
  ) {
    this.#match(blank);
  }

  isEmpty(): boolean {
    return this.#at === this.text.length || this.text[this.#at] === '#';
  }

  fail(what: string): never {
    const got = this.text.slice(this.#at, this.#at + 40);
    throw new FormatError(
      `${this.path}:${this.line}: expected ${what} at column ${this.#at + 1}, got ${JSON.stringify(got)}.`,
      { path: this.path, line: this.line, column: this.#at + 1 },
    );
  }

  iri(): string | null {
    const start = this.#at;
    const match = this.#match(iri);
    return match === null ? null : this.#blankAfter(this.#absolute(match[1], start));
  }

  blankNode(): string | null {
    const match = this.#match(blankNode);
    return match === null ? null : this.#blankAfter(match[0]);
  }

  literal(): string | null {
    const close = this.#closingQuote();
    if (close < 0) return null;
    const text = `"${this.#unescape(this.text.slice(this.#at + 1, close))}"`;
    this.#at = close + 1;
    if (this.#match(datatype) !== null) {
      const start = this.#at;
      const match = this.#match(iri) ?? this.fail('the IRI of a datatype');
      const type = this.#absolute(match[1], start);
      return this.#blankAfter(type === textDatatype ? text : `${text}^^${type}`);
    }
    // Language tags are case-insensitive.
    return this.#blankAfter(text + (this.#match(language)?.[0].toLowerCase() ?? ''));
  }

  end(): void {
    if (this.#match(end) === null) this.fail('" ." and the end of the line');
  }

  /** Returns the IRI of escaped text that starts at `start`; a relative one has no meaning without a base. */
  #absolute(text: string, start: number): string {
    const value = this.#unescape(text);
    if (scheme.test(value) && !forbidden.test(value)) return value;
    this.#at = start;
    return this.fail('an absolute IRI');
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    const match = this.#execute(pattern);
    if (match !== null) this.#at += match[0].length;
    return match;
  }

  #execute(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    try {
      return pattern.exec(this.text);
    } catch {
      // Only the stack of the regular expression matcher can overflow, after millions of characters.
      return this.fail('a shorter term');
    }
  }

  /** Returns the end of the literal that starts here; −1 if there is none. Not a regular expression: literals may be long. */
  #closingQuote(): number {
    const { text } = this;
    if (text[this.#at] !== '"') return -1;
    for (let i = this.#at + 1; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === 0x22) return i;
      if (code === 0x0a || code === 0x0d) return -1;
      if (code !== 0x5c) continue;
      escaped.lastIndex = i;
      const match = escaped.exec(text);
      if (match === null) return -1;
      i += match[0].length - 1;
    }
    return -1;
  }

  #blankAfter(value: string): string {
    this.#match(blank);
    return value;
  }

  #unescape(text: string): string {
    if (!text.includes('\\')) return text;
    return text.replace(/\\(?:u(.{4})|U(.{8})|(.))/g, (_, short?: string, long?: string, letter?: string) => {
      if (letter !== undefined) return escapes[letter] ?? letter;
      const point = Number.parseInt(short ?? long ?? '', 16);
      return point > 0x10ffff ? this.fail('a Unicode character') : String.fromCodePoint(point);
    });
  }
}
