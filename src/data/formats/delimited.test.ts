/** Records of delimited text, whatever the chunks they arrive in. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FormatError } from '../../util/errors.js';
import { RecordParser } from './delimited.js';
import { splitLine } from './split-line.js';
import { findDelimiter, type TextLayout } from './text-layout.js';

function layout(delimiter: string, width: number, options: Partial<TextLayout> = {}): TextLayout {
  const quoted = [',', ';', '|'].includes(delimiter);
  const usual = { path: 't.csv', comment: '#', commentsAnywhere: false, skip: 0, header: null };
  return { ...usual, delimiter, quoted, width, ...options };
}

/** The records of `text`, fed in pieces of `size` bytes, with their lines. */
function parse(
  text: string | Uint8Array,
  of: TextLayout,
  size = 1 << 20,
): { rows: string[][]; lines: number[] } {
  const parser = new RecordParser(of);
  const bytes = Buffer.from(text as string);
  const rows: string[][] = [];
  const lines: number[] = [];
  const take = (chunk: Uint8Array, last: boolean): void => {
    const block = parser.feed(Buffer.from(chunk), last);
    for (let row = 0; row < block.rows; row++) {
      rows.push(block.fields(row));
      lines.push(block.lines[row]);
    }
  };
  for (let at = 0; at < bytes.length; at += size) take(bytes.subarray(at, at + size), false);
  take(new Uint8Array(0), true);
  return { rows, lines };
}

describe('fields', () => {
  test('any text survives quotes, for any delimiter, line end and size of chunks', () => {
    const field = fc.string({
      unit: fc.constantFrom('a', 'é', '日', '"', ',', ';', '|', '\n', '\r', ' ', '\t'),
      maxLength: 6,
    });
    const table = fc
      .integer({ min: 1, max: 4 })
      .chain((width) =>
        fc.array(fc.array(field, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 8 }),
      );
    fc.assert(
      fc.property(
        table,
        fc.constantFrom(',', ';', '|'),
        fc.constantFrom('\n', '\r\n'),
        fc.integer({ min: 1, max: 9 }),
        fc.boolean(),
        (rows, delimiter, end, size, open) => {
          const quoted = rows.map((row) =>
            row.map((text) => `"${text.replaceAll('"', '""')}"`).join(delimiter),
          );
          const text = quoted.join(end) + (open ? '' : end);
          expect(parse(text, layout(delimiter, rows[0].length), size).rows).toEqual(rows);
        },
      ),
      { seed: 5, numRuns: 300 },
    );
  });

  test('line ends in turn, empty lines, a byte order mark, a last line without end', () => {
    for (const size of [1, 2, 3, 100]) {
      const { rows, lines } = parse('\ufeffa,b\r\nc,d\n\n\r\ne,f\r\n\ng,', layout(',', 2), size);
      expect(rows).toEqual([
        ['a', 'b'],
        ['c', 'd'],
        ['e', 'f'],
        ['g', ''],
      ]);
      expect(lines).toEqual([1, 2, 5, 7]);
    }
  });

  test('runs of blanks, leading ones too; delimiters of several bytes; quotes that are text', () => {
    expect(parse('  1   2\t \r\n\t3 4 \n', layout(' ', 2)).rows).toEqual([
      ['1', '2'],
      ['3', '4'],
    ]);
    expect(parse('a::b\nc:d::e\n', layout('::', 2), 3).rows).toEqual([
      ['a', 'b'],
      ['c:d', 'e'],
    ]);
    expect(parse('5" disk,"x"\n', layout(',', 2)).rows).toEqual([['5" disk', 'x']]);
  });

  test.each(['\t', '::', ' '])('quotes around a whole field are taken, others are text: %j', (mark) => {
    const fields = ['"ab"', '5"disk', '"text"@en', '"say""hi"""', '"', '""', '"a"b"', '"""'];
    const rows = [['ab', '5"disk', '"text"@en', 'say"hi"', '"', '', '"a"b"', '"""']];
    for (const size of [1, 5, 100]) {
      const text = `${fields.join(mark)}\r\n`;
      expect(parse(text, layout(mark, 8), size).rows).toEqual(rows);
      expect(parse(text, layout(mark, 0), size).rows).toEqual(rows);
    }
    expect(splitLine(fields.join(mark), mark)).toEqual(rows[0]);
  });

  test('spaces around numbers are ignored, those of names and in quotes are kept', () => {
    const text = '1, 2, -3.5 , a ,"4 ",\t7\n';
    expect(parse(text, layout(',', 6)).rows).toEqual([['1', '2', '-3.5', ' a ', '4 ', '7']]);
    expect(parse(' 1\t2 \t x\n', layout('\t', 3)).rows).toEqual([['1', '2', ' x']]);
  });

  test('lines of blanks are empty lines', () => {
    expect(parse('a,b\n  \n \t\r\nc,d\n   ', layout(',', 2), 2)).toEqual({
      rows: [
        ['a', 'b'],
        ['c', 'd'],
      ],
      lines: [1, 4],
    });
    expect(parse('a\tb\n \n\t\n', layout('\t', 2)).rows).toEqual([
      ['a', 'b'],
      ['', ''],
    ]);
  });

  test('the first record says how many fields there are, whatever is quoted in it', () => {
    for (const size of [1, 3, 100]) {
      const text = '"a ""x""\nb",c,"d,e"\n1,2,3\n';
      expect(parse(text, layout(',', 0), size)).toEqual({
        rows: [
          ['a "x"\nb', 'c', 'd,e'],
          ['1', '2', '3'],
        ],
        lines: [1, 3],
      });
    }
    expect(() => parse('a,b\nc\n', layout(',', 0))).toThrow('t.csv:2: expected 2 columns, got 1.');
    expect(() => parse('a,b\nc,d,e\n', layout(',', 0))).toThrow('t.csv:2: expected 2 columns, got 3.');
  });

  test('a line is split as the record parser does', () => {
    const field = fc.string({ unit: fc.constantFrom('a', '"', ',', ' ', '1'), maxLength: 6 });
    const fields = fc.array(fc.tuple(field, fc.boolean()), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fields, (cells) => {
        const texts = cells.map(([text, bare]) =>
          bare ? `x${text.replaceAll(',', '')}x` : `"${text.replaceAll('"', '""')}"`,
        );
        const line = texts.join(',');
        expect(parse(`${line}\n`, layout(',', 0)).rows).toEqual([splitLine(line, ',')]);
      }),
      { seed: 3, numRuns: 300 },
    );
  });

  test('a record over several lines has the number of its first, and those after it theirs', () => {
    for (const size of [1, 4, 100])
      expect(parse('h\n"a\nb"\nc\n', layout(',', 1, { skip: 1 }), size)).toEqual({
        rows: [['a\nb'], ['c']],
        lines: [2, 4],
      });
  });

  test('comments: before the first record, or anywhere', () => {
    const text = '1,2\n# c\n3,4\n#5,6\n';
    expect(parse(text, layout(',', 2, { commentsAnywhere: true }), 2).rows).toEqual([
      ['1', '2'],
      ['3', '4'],
    ]);
    expect(() => parse(text, layout(',', 2))).toThrow('t.csv:2: expected 2 columns, got 1.');
  });
});

test.each<[string, string | Uint8Array, RegExp]>([
  ['too many', 'a,b\nc,d,e\n', /t\.csv:2: expected 2 columns, got 3\./],
  ['too few', 'a,b\nc\n', /t\.csv:2: expected 2 columns, got 1\./],
  [
    'text after a quote',
    'a,b\n"c"x,d\n',
    /t\.csv:2: expected the end of the field after its quote, got "x,d/,
  ],
  ['a quote without end', 'a,b\n"c,d\ne,f\n', /t\.csv:2: expected a quote at the end of the field, got none/],
  ['other bytes', Uint8Array.of(97, 44, 98, 10, 0xe9, 44, 98, 10), /t\.csv:2: expected text in UTF-8/],
])('broken: %s', (_, text, message) => {
  for (const size of [1, 100]) {
    expect(() => parse(text, layout(',', 2), size)).toThrow(FormatError);
    expect(() => parse(text, layout(',', 2), size)).toThrow(message);
  }
});

test.each([
  [['a,b', 'c,d'], ','],
  [['a;1,5', 'b;2,5'], ';'],
  [['a;b;1,5', 'c;d;2'], ';'],
  [['x, y\tb', 'z\tc, d, e'], '\t'],
  [['"a,b"|c', '"d"|e'], '|'],
  [['1 2', '3 4'], ' '],
  [['New York,b', 'c,d e'], ','],
  [['one'], ','],
  [['"New York"'], ','],
  [['"a" "b"'], ' '],
  [['a,"one;', 'two; three"', 'b,c'], ','],
  [['"x', 'y, z",k', 'b,"c', 'd, e, f'], ','],
  [['5"\ta,', '"b\tc'], '\t'],
])('the delimiter of %j is %j', (lines, delimiter) => {
  expect(findDelimiter(lines)).toBe(delimiter);
});
