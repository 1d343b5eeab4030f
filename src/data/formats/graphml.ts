/**
 * GraphML (.graphml, .graphml.gz): nodes and edges with attributes, read as a stream. Keys are declared before the graph; their
 * defaults are applied, and values are checked against their types. Elements of nested graphs are read like the others;
 * drawing data of yEd and ports are ignored; hyperedges and a second graph are errors.
 */
import { expected, FormatError, ValueError } from '../../util/errors.js';
import { csvText, type RowBlock } from './csv-text.js';
import { readXml, type XmlAttributes, type XmlEvent } from './xml-events.js';

/** A value of an attribute, by its type in the file. */
export type GraphmlValue = string | number | boolean;

export interface GraphmlNode {
  readonly id: string;
  readonly [attribute: string]: GraphmlValue;
}

export interface GraphmlEdge {
  readonly source: string;
  readonly target: string;
  readonly [attribute: string]: GraphmlValue;
}

export interface Graphml {
  /** One object per node: its id and its attributes. */
  readonly nodes: readonly GraphmlNode[];
  /** One object per edge: its ends and its attributes; those of undirected edges are in no order. */
  readonly edges: readonly GraphmlEdge[];
  /** Whether edge i has a direction. */
  readonly directed: readonly boolean[];
}

/**
 * Reads a graph into memory, in the form that `fitNodes` takes.
 *
 * @example
 * const { nodes, edges } = await readGraphml('club.graphml');
 */
export async function readGraphml(path: string): Promise<Graphml> {
  if (typeof path !== 'string') throw new ValueError(expected('readGraphml', 'a path', 'path', path));
  const nodes: GraphmlNode[] = [];
  const edges: GraphmlEdge[] = [];
  const directed: boolean[] = [];
  const ids = new Set<string>();
  for await (const element of readElements(path)) {
    if (element.kind === 'keys') continue;
    const values = Object.fromEntries(element.values);
    if (element.kind === 'node') {
      if (ids.has(element.id))
        throw new FormatError(`${path}:${element.line}: expected each node once, got ${element.id} again.`, {
          path,
          line: element.line,
        });
      ids.add(element.id);
      nodes.push({ ...values, id: element.id });
    } else {
      const { source, target } = element;
      edges.push({ ...values, source, target });
      directed.push(element.directed);
    }
  }
  const unknown = edges.flatMap(({ source, target }) => [source, target]).find((id) => !ids.has(id));
  if (unknown !== undefined)
    throw new FormatError(`${path}: expected edges between nodes of the file, got one of ${unknown}.`, {
      path,
    });
  return { nodes, edges, directed };
}

/** Yields the nodes or the edges of a file as CSV with a header: the id or both ends, then the attributes. */
export async function* graphmlTable(path: string, kind: 'node' | 'edge'): AsyncGenerator<string> {
  const elements = readElements(path)[Symbol.asyncIterator]();
  const first = await elements.next();
  const names = first.done !== true && first.value.kind === 'keys' ? first.value[kind] : [];
  const fixed = kind === 'node' ? ['id'] : ['source', 'target'];
  // An attribute may be called id, too.
  const columns = names.map((name) => (fixed.includes(name) ? `attribute ${name}` : name));
  yield* csvText([...fixed, ...columns], rowsOf({ [Symbol.asyncIterator]: () => elements }, kind, names));
}

const blockRows = 1000;

async function* rowsOf(
  elements: AsyncIterable<GraphmlElement>,
  kind: 'node' | 'edge',
  names: readonly string[],
): AsyncGenerator<RowBlock> {
  let block: (string | null)[][] = [];
  for await (const element of elements) {
    if (element.kind !== kind) continue;
    const ends = element.kind === 'node' ? [element.id] : [element.source, element.target];
    const cells = names.map((name) => {
      const value = element.values.get(name);
      return value === undefined ? null : String(value);
    });
    block.push([...ends, ...cells]);
    if (block.length < blockRows) continue;
    yield block;
    block = [];
  }
  yield block;
}

type Values = ReadonlyMap<string, GraphmlValue>;

type GraphmlElement =
  /** Names of the attributes of nodes and of edges, before all others. */
  | { readonly kind: 'keys'; readonly node: readonly string[]; readonly edge: readonly string[] }
  | { readonly kind: 'node'; readonly id: string; readonly values: Values; readonly line: number }
  | {
      readonly kind: 'edge';
      readonly source: string;
      readonly target: string;
      readonly directed: boolean;
      readonly values: Values;
      readonly line: number;
    };

async function* readElements(path: string): AsyncGenerator<GraphmlElement> {
  const reader = new ElementReader(path);
  for await (const event of readXml(path)) yield* reader.take(event);
  reader.finish();
}

interface Key {
  readonly name: string;
  readonly type: string;
  readonly of: readonly ('node' | 'edge')[];
  fallback: GraphmlValue | undefined;
}

/** An element that is open, with the values seen so far. */
interface OpenElement {
  readonly attributes: XmlAttributes;
  readonly line: number;
  readonly values: Map<string, GraphmlValue>;
}

const types: readonly string[] = ['boolean', 'int', 'long', 'float', 'double', 'string'];

class ElementReader {
  readonly #keys = new Map<string, Key>();
  readonly #path: string[] = [];
  readonly #open: OpenElement[] = [];
  /** Directions of the graphs that are open. */
  readonly #directed: boolean[] = [];
  #graphs = 0;
  #line = 1;
  #key: Key | null = null;
  /** Text of the data or default that is open; null elsewhere. */
  #text: string | null = null;

  constructor(readonly path: string) {}

  #fail(what: string, got: string): never {
    const { path } = this;
    throw new FormatError(`${path}:${this.#line}: expected ${what}, got ${got}.`, { path, line: this.#line });
  }

  *take(event: XmlEvent): Generator<GraphmlElement> {
    this.#line = event.line;
    if (event.kind === 'text') {
      if (this.#text !== null) this.#text += event.text;
    } else if (event.kind === 'open') {
      if (this.#path.length === 0 && event.name !== 'graphml') this.#fail('<graphml>', `<${event.name}>`);
      this.#path.push(event.name);
      yield* this.#start(event.name, event.attributes);
    } else {
      this.#path.pop();
      yield* this.#end(event.name);
    }
  }

  finish(): void {
    if (this.#graphs === 0) this.#fail('a graph', 'none');
  }

  *#start(name: string, attributes: XmlAttributes): Generator<GraphmlElement> {
    switch (name) {
      case 'key':
        this.#declare(attributes);
        break;
      case 'graph':
        if (this.#directed.length === 0 && ++this.#graphs > 1) this.#fail('one graph', 'a second');
        if (this.#graphs === 1 && this.#directed.length === 0) yield this.#keyNames();
        this.#directed.push(attributes.get('edgedefault') !== 'undirected');
        break;
      case 'node':
      case 'edge':
        this.#open.push({ attributes, line: this.#line, values: this.#defaults(name) });
        break;
      case 'hyperedge':
        return this.#fail('edges of two nodes', 'a hyperedge');
      case 'data':
        this.#key = this.#keys.get(this.#required(attributes, 'key')) ?? null;
        if (this.#key === null && this.#isData())
          this.#fail('a declared key', JSON.stringify(attributes.get('key')));
        this.#text = '';
        break;
      case 'default':
        this.#text = '';
        break;
    }
  }

  *#end(name: string): Generator<GraphmlElement> {
    if (name === 'graph') this.#directed.pop();
    else if (name === 'default' && this.#key !== null) this.#key.fallback = this.#value(this.#key);
    else if (name === 'data' && this.#isData() && this.#key !== null && this.#key.name !== '')
      this.#open.at(-1)?.values.set(this.#key.name, this.#value(this.#key));
    if (name === 'data' || name === 'default') this.#text = null;
    if (name === 'key') this.#key = null;
    if (name !== 'node' && name !== 'edge') return;
    const { attributes, line, values } = this.#open.pop() as OpenElement;
    if (name === 'node') yield { kind: 'node', id: this.#required(attributes, 'id'), values, line };
    else {
      const given = attributes.get('directed');
      const directed = given === undefined ? (this.#directed.at(-1) ?? true) : given === 'true';
      const [source, target] = ['source', 'target'].map((end) => this.#required(attributes, end));
      yield { kind: 'edge', source, target, directed, values, line };
    }
  }

  /** Whether the element that contains the current one is a node or an edge. */
  #isData(): boolean {
    const parent = this.#path.filter((name) => name !== 'data').at(-1);
    return parent === 'node' || parent === 'edge';
  }

  #required(attributes: XmlAttributes, name: string): string {
    const value = attributes.get(name);
    return value === undefined || value === '' ? this.#fail(`the attribute ${name}`, 'none') : value;
  }

  #declare(attributes: XmlAttributes): void {
    const id = this.#required(attributes, 'id');
    if (this.#graphs > 0) this.#fail('keys before the graph', id);
    if (this.#keys.has(id)) this.#fail('each key once', `${id} again`);
    const type = attributes.get('attr.type') ?? 'string';
    if (!types.includes(type)) this.#fail(`one of ${types.join(', ')} for attr.type`, JSON.stringify(type));
    const target = attributes.get('for') ?? 'all';
    const of = (['node', 'edge'] as const).filter((one) => target === one || target === 'all');
    // Drawing data has no name of an attribute.
    const name = attributes.has('yfiles.type') ? '' : (attributes.get('attr.name') ?? id);
    this.#key = { name, type, of, fallback: undefined };
    this.#keys.set(id, this.#key);
  }

  #keyNames(): GraphmlElement {
    const named = [...this.#keys.values()].filter(({ name }) => name !== '');
    const of = (kind: 'node' | 'edge'): string[] => [
      ...new Set(named.filter((key) => key.of.includes(kind)).map(({ name }) => name)),
    ];
    return { kind: 'keys', node: of('node'), edge: of('edge') };
  }

  #defaults(kind: 'node' | 'edge'): Map<string, GraphmlValue> {
    const values = new Map<string, GraphmlValue>();
    for (const { name, of, fallback } of this.#keys.values())
      if (fallback !== undefined && name !== '' && of.includes(kind)) values.set(name, fallback);
    return values;
  }

  #value({ name, type }: Key): GraphmlValue {
    const text = this.#text ?? '';
    if (type === 'string') return text;
    const bare = text.trim();
    if (type === 'boolean') {
      if (/^(true|1)$/i.test(bare)) return true;
      return /^(false|0)$/i.test(bare)
        ? false
        : this.#fail(`true or false for ${name}`, JSON.stringify(bare));
    }
    const value = Number(bare);
    const isNumber =
      bare !== '' && !Number.isNaN(value) && (!/int|long/.test(type) || Number.isInteger(value));
    // A whole number that f64 cannot represent stays text.
    if (isNumber) return Number.isInteger(value) && !Number.isSafeInteger(value) ? bare : value;
    if (bare === 'NaN' && !/int|long/.test(type)) return Number.NaN;
    return this.#fail(`${/int|long/.test(type) ? 'a whole' : 'a'} number for ${name}`, JSON.stringify(bare));
  }
}
