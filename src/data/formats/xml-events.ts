/**
 * A strict reader of XML in UTF-8 as a stream of tags and text, in the memory of one tag or text. It knows the five entities
 * of XML and numeric ones; nothing else is expanded and nothing is fetched: a document type declaration with definitions is
 * an error, one without is skipped. Prefixes of namespaces are removed from names.
 */
import { FormatError } from '../../util/errors.js';
import { readChunks } from './text-lines.js';

export type XmlEvent =
  | {
      readonly kind: 'open';
      readonly name: string;
      readonly attributes: XmlAttributes;
      readonly line: number;
    }
  | { readonly kind: 'close'; readonly name: string; readonly line: number }
  | { readonly kind: 'text'; readonly text: string; readonly line: number };

export type XmlAttributes = ReadonlyMap<string, string>;

/** Most characters of one comment or text. */
const maxLength = 2 ** 26;
/** Most characters of one tag or instruction: regular expressions, which read these, have a limited stack. */
const maxTagLength = 2 ** 20;

/** Yields the tags and texts of a file; errors have its line. */
export async function* readXml(path: string): AsyncGenerator<XmlEvent> {
  const parser = new XmlParser(path);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
    } catch {
      return parser.fail('text in UTF-8', 'other bytes');
    }
  };
  for await (const chunk of readChunks(path)) yield* parser.feed(decode(chunk), false);
  yield* parser.feed(decode(), true);
}

const nameForm = /^[\p{L}_:][\p{L}\p{N}_:.·-]*/u;
const attributeForm = /\s+([\p{L}_:][\p{L}\p{N}_:.·-]*)\s*=\s*("[^"<]*"|'[^'<]*')/uy;
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

class XmlParser {
  #text = '';
  #at = 0;
  #line = 1;
  readonly #open: string[] = [];
  #hasRoot = false;
  /** An element without content that has been opened. */
  #empty: XmlEvent | null = null;

  constructor(readonly path: string) {}

  fail(what: string, got: string): never {
    const { path } = this;
    throw new FormatError(`${path}:${this.#line}: expected ${what}, got ${got}.`, { path, line: this.#line });
  }

  *feed(chunk: string, last: boolean): Generator<XmlEvent> {
    this.#text = this.#text.slice(this.#at) + chunk;
    this.#at = 0;
    if (this.#line === 1 && this.#text.startsWith('\ufeff')) this.#at = 1;
    for (;;) {
      const event = this.#next(last);
      if (event === null) break;
      if (event !== 'skipped') yield event;
    }
    if (this.#text.length - this.#at > maxLength) this.fail('a tag or text that ends', 'none');
    if (!last) return;
    if (this.#at < this.#text.length) this.fail('the end of a tag', 'the end of the file');
    if (this.#open.length > 0) this.fail(`</${this.#open.at(-1)}>`, 'the end of the file');
    if (!this.#hasRoot) this.fail('XML', 'an empty file');
  }

  /** Returns the next event; null if its end has not arrived. */
  #next(last: boolean): XmlEvent | 'skipped' | null {
    const empty = this.#empty;
    if (empty !== null) {
      this.#empty = null;
      return empty;
    }
    const text = this.#text;
    const at = this.#at;
    if (at >= text.length) return null;
    if (text[at] !== '<') return this.#content(last);
    if (!last && text.length - at < 12) return null;
    const start = text.slice(at, at + 9);
    if (start.startsWith('<!--')) return this.#skip('-->', 4);
    if (start === '<![CDATA[') {
      const end = this.#endOf(']]>', at + 9);
      return end < 0 ? null : this.#emitText(text.slice(at + 9, end), end + 3);
    }
    if (start.startsWith('<?')) return this.#instruction();
    if (start.startsWith('<!')) return this.#declaration();
    return this.#tag();
  }

  /** Returns the position of `mark`; −1 if it has not arrived. */
  #endOf(mark: string, from: number): number {
    return this.#text.indexOf(mark, from);
  }

  /** Returns the end of a tag, −1 if it has not arrived; throws if the tag is too long. */
  #limited(end: number): number {
    if ((end < 0 ? this.#text.length : end) - this.#at > maxTagLength)
      this.fail(`a tag of at most ${maxTagLength} characters`, 'a longer one');
    return end;
  }

  #advance(to: number): void {
    for (
      let at = this.#text.indexOf('\n', this.#at);
      at >= 0 && at < to;
      at = this.#text.indexOf('\n', at + 1)
    )
      this.#line++;
    this.#at = to;
  }

  #skip(mark: string, from: number): 'skipped' | null {
    const end = this.#endOf(mark, this.#at + from);
    if (end < 0) return null;
    this.#advance(end + mark.length);
    return 'skipped';
  }

  #instruction(): 'skipped' | null {
    const end = this.#limited(this.#endOf('?>', this.#at));
    if (end < 0) return null;
    const text = this.#text.slice(this.#at, end);
    const [, encoding] = /^<\?xml\s[^>]*encoding\s*=\s*["']([^"']*)/.exec(text) ?? [];
    if (encoding !== undefined && !/^(utf-8|us-ascii)$/i.test(encoding))
      this.fail('the encoding UTF-8', JSON.stringify(encoding));
    return this.#skip('?>', 0);
  }

  #declaration(): 'skipped' | null {
    const end = this.#endOf('>', this.#at);
    if (end < 0) return null;
    const text = this.#text.slice(this.#at, end);
    if (!text.startsWith('<!DOCTYPE') || this.#hasRoot) this.fail('a tag', JSON.stringify(text.slice(0, 40)));
    if (text.includes('[')) this.fail('XML without definitions of entities', 'a document type with some');
    return this.#skip('>', 0);
  }

  #content(last: boolean): XmlEvent | 'skipped' | null {
    const end = this.#endOf('<', this.#at);
    if (end < 0 && !last) return null;
    const raw = this.#text.slice(this.#at, end < 0 ? this.#text.length : end);
    return this.#emitText(raw.includes('&') ? this.#expand(raw) : raw, this.#at + raw.length);
  }

  #emitText(text: string, to: number): XmlEvent | 'skipped' {
    const line = this.#line;
    if (this.#open.length === 0 && text.trim() !== '')
      this.fail('a tag', JSON.stringify(text.trim().slice(0, 40)));
    this.#advance(to);
    return this.#open.length === 0 ? 'skipped' : { kind: 'text', text, line };
  }

  #expand(text: string): string {
    return text.replaceAll(/&([^;&\s]{0,32};?)/g, (_, reference: string) => {
      const name = reference.slice(0, -1);
      if (reference.endsWith(';')) {
        const [, hex, decimal] = /^#(?:x([0-9a-fA-F]{1,6})|(\d{1,7}))$/.exec(name) ?? [];
        const code = hex !== undefined ? Number.parseInt(hex, 16) : Number(decimal);
        if (code > 0 && code <= 0x10ffff) return String.fromCodePoint(code);
        if (Object.hasOwn(entities, name)) return entities[name];
      }
      return this.fail('an entity of XML, such as &amp;', JSON.stringify(`&${reference}`));
    });
  }

  #tag(): XmlEvent | null {
    const end = this.#limited(this.#tagEnd());
    if (end < 0) return null;
    const isEmpty = this.#text[end - 1] === '/';
    const inside = this.#text.slice(this.#at + 1, isEmpty ? end - 1 : end);
    const line = this.#line;
    if (inside.startsWith('/')) {
      const name = inside.slice(1).trimEnd();
      const open = this.#open.pop();
      if (name !== open) this.fail(open === undefined ? 'a tag' : `</${open}>`, `</${name.slice(0, 40)}>`);
      this.#advance(end + 1);
      return { kind: 'close', name: localName(name), line };
    }
    const [name] =
      nameForm.exec(inside) ?? this.fail('the name of a tag', JSON.stringify(inside.slice(0, 40)));
    if (this.#open.length === 0 && this.#hasRoot) this.fail('one element', `a second, <${name}>`);
    this.#hasRoot = true;
    const attributes = this.#attributes(inside, name.length);
    if (isEmpty) this.#empty = { kind: 'close', name: localName(name), line };
    else this.#open.push(name);
    this.#advance(end + 1);
    return { kind: 'open', name: localName(name), attributes, line };
  }

  /** Returns the position of the > that ends the tag, outside of quotes; −1 if it has not arrived. */
  #tagEnd(): number {
    let quote = '';
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      const sign = this.#text[at];
      if (quote !== '') {
        if (sign === quote) quote = '';
      } else if (sign === '"' || sign === "'") quote = sign;
      else if (sign === '>') return at;
      else if (sign === '<') this.fail('the end of a tag', '"<"');
    }
    return -1;
  }

  #attributes(inside: string, from: number): XmlAttributes {
    const attributes = new Map<string, string>();
    let at = from;
    for (;;) {
      attributeForm.lastIndex = at;
      const match = attributeForm.exec(inside);
      if (match === null) break;
      const name = localName(match[1]);
      if (attributes.has(name) && !match[1].includes(':')) this.fail('each attribute once', `${name} again`);
      attributes.set(name, this.#expand(match[2].slice(1, -1)));
      at = attributeForm.lastIndex;
    }
    const rest = inside.slice(at).trim();
    if (rest !== '') this.fail('attributes such as id="n1"', JSON.stringify(rest.slice(0, 40)));
    return attributes;
  }
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
