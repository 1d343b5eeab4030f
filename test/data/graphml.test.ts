/** GraphML: nodes, edges, keys of every type, nested graphs; wrong and hostile files with their lines. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { FormatError } from 'skein';
import { readGraphml } from 'skein/data';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readXml } from '#internal/data/formats/xml-events.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-graphml-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function put(text: string | Buffer, name = 'x.graphml'): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, name.endsWith('.gz') ? gzipSync(text) : text);
  return path;
}

const keys = `
  <key id="d0" for="node" attr.name="color" attr.type="string"><default>yellow</default></key>
  <key id="d1" for="edge" attr.name="weight" attr.type="double"/>
  <key id="d2" for="all" attr.name="seen" attr.type="boolean"/>
  <key id="d3" for="node" attr.name="age" attr.type="int"/>
  <key id="d4" for="node" yfiles.type="nodegraphics"/>`;

const document = (graph: string, head = keys): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<!-- made by hand -->\n<g:graphml xmlns:g="http://graphml.graphdrawing.org/xmlns">${head}\n${graph}\n</g:graphml>\n`;

const graph = `<graph id="G" edgedefault="undirected">
  <node id="a"><data key="d0">r&#233;d &amp; <![CDATA[<b>]]></data><data key="d3"> 7 </data></node>
  <node id="b &lt;1&gt;">
    <data key="d4"><y:Shape xmlns:y="u"><y:Fill color="#fff"/>text</y:Shape></data>
    <graph id="inner" edgedefault="directed"><node id="c"/><edge source="c" target="a"/></graph>
    <data key="d2">true</data>
  </node>
  <edge id="e" source="a" target='b &lt;1&gt;'><data key="d1">1.5e1</data></edge>
  <edge source="b &lt;1&gt;" target="c" directed="true"><data key="d2">0</data></edge>
</graph>`;

test('nodes, edges, keys, defaults, nested graphs, directions', async () => {
  const wanted = {
    nodes: [
      { id: 'a', color: 'réd & <b>', age: 7 },
      { id: 'c', color: 'yellow' },
      { id: 'b <1>', color: 'yellow', seen: true },
    ],
    edges: [
      { source: 'c', target: 'a' },
      { source: 'a', target: 'b <1>', weight: 15 },
      { source: 'b <1>', target: 'c', seen: false },
    ],
    directed: [true, false, true],
  };
  expect(await readGraphml(await put(document(graph)))).toEqual(wanted);
  expect(await readGraphml(await put(document(graph), 'x.graphml.gz'))).toEqual(wanted);
  const declared = document(graph).replace('<!--', '<!DOCTYPE graphml SYSTEM "http://x/y.dtd">\n<!--');
  expect(await readGraphml(await put(declared))).toEqual(wanted);
});

test('text is read in chunks of any size', async () => {
  const nodes = Array.from(
    { length: 60_000 },
    (_, i) => `<node id="n${i}"><data key="d3">${i}</data></node>\n`,
  );
  const path = await put(
    document(`<graph edgedefault="directed">${nodes.join('')}</graph>`),
    'large.graphml',
  );
  const { nodes: read } = await readGraphml(path);
  expect(read.length).toBe(60_000);
  expect(read[59_999]).toEqual({ id: 'n59999', color: 'yellow', age: 59_999 });
});

const inGraph = (inside: string): string => document(`<graph edgedefault="directed">\n${inside}\n</graph>`);

test.each([
  [
    'entities',
    document(graph).replace('<!--', '<!DOCTYPE g [<!ENTITY a "aaaa">]>\n<!--'),
    /:2: expected XML without definitions of entities, got a document type/,
  ],
  [
    'an unknown entity',
    inGraph('<node id="&boom;"/>'),
    /:\d+: expected an entity of XML, such as &amp;, got "&boom;"/,
  ],
  ['a character beyond Unicode', inGraph('<node id="&#x110000;"/>'), /expected an entity of XML/],
  ['tags that do not match', inGraph('<node id="a"></edge>'), /:\d+: expected <\/node>, got <\/edge>/],
  ['an open end', '<graphml><graph>', /expected <\/graph>, got the end of the file/],
  ['an empty file', '', /expected XML, got an empty file/],
  ['other text', 'source,target\n1,2\n', /:1: expected a tag, got "source,target/],
  ['another format', '<gexf/>', /:1: expected <graphml>, got <gexf>/],
  ['no graph', '<graphml></graphml>', /expected a graph, got none/],
  ['a second graph', document('<graph/><graph/>'), /expected one graph, got a second/],
  ['a second element', '<graphml><graph/></graphml><graphml/>', /expected one element, got a second/],
  ['an attribute twice', inGraph('<node id="a" id="b"/>'), /expected each attribute once, got id again/],
  ['an attribute without quotes', inGraph('<node id=a/>'), /expected attributes such as id="n1", got "id=a"/],
  ['a node without an id', inGraph('<node/>'), /:\d+: expected the attribute id, got none/],
  [
    'an edge without an end',
    inGraph('<node id="a"/><edge source="a"/>'),
    /expected the attribute target, got none/,
  ],
  [
    'an edge to nowhere',
    inGraph('<node id="a"/><edge source="a" target="z"/>'),
    /edges between nodes of the file, got one of z/,
  ],
  ['a node twice', inGraph('<node id="a"/>\n<node id="a"/>'), /:\d+: expected each node once, got a again/],
  ['a hyperedge', inGraph('<hyperedge/>'), /expected edges of two nodes, got a hyperedge/],
  [
    'an unknown key',
    inGraph('<node id="a"><data key="dx">1</data></node>'),
    /expected a declared key, got "dx"/,
  ],
  [
    'a value of another type',
    inGraph('<node id="a"><data key="d3">1.5</data></node>'),
    /expected a whole number for age, got "1\.5"/,
  ],
  [
    'no truth value',
    inGraph('<node id="a"><data key="d2">yes</data></node>'),
    /expected true or false for seen, got "yes"/,
  ],
  [
    'an unknown type',
    document('<graph/>', '<key id="a" attr.type="date"/>'),
    /one of boolean, int, .* for attr\.type, got "date"/,
  ],
  [
    'another encoding',
    '<?xml version="1.0" encoding="latin1"?><graphml/>',
    /expected the encoding UTF-8, got "latin1"/,
  ],
])('broken: %s', async (_, text, message) => {
  const reading = readGraphml(await put(text));
  await expect(reading).rejects.toThrow(FormatError);
  await expect(reading).rejects.toThrow(message);
});

test('bytes that are not UTF-8', async () => {
  const path = await put(Buffer.from('<graphml>\xe9</graphml>', 'latin1'));
  await expect(readGraphml(path)).rejects.toThrow(/expected text in UTF-8, got other bytes/);
});

test('deep nesting and long tags end soon', async () => {
  const deep = await put(`${'<a>'.repeat(200_000)}${'</a>'.repeat(200_000)}`, 'deep.xml');
  let events = 0;
  for await (const _ of readXml(deep)) events++;
  expect(events).toBe(400_000);
  await expect(readGraphml(await put(`<graphml ${'a'.repeat(1 << 20)}`))).rejects.toThrow(FormatError);
});

test('a tag has at most 2^20 characters', async () => {
  const tag = (length: number): string => `\n<node id="${'x'.repeat(length)}"/>`;
  const read = async (text: string): Promise<void> => {
    for await (const _ of readXml(await put(`<a>${text}</a>`)));
  };
  await read(tag(2 ** 20 - 20));
  for (const long of [tag(2 ** 20), tag(20_000_000), `\n<?xml ${'x'.repeat(20_000_000)}?>`]) {
    await expect(read(long)).rejects.toThrow(FormatError);
    await expect(read(long)).rejects.toThrow(
      /x\.graphml:\d: expected a tag of at most 1048576 characters, got/,
    );
  }
});
