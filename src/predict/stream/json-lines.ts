/** Lists as bytes with one line of JSON per value: one string of a whole list could be longer than JavaScript allows. */

const newline = 10;
const blockSize = 1000;

export function encodeLines(values: readonly unknown[]): Uint8Array {
  const blocks: Buffer[] = [];
  for (let i = 0; i < values.length; i += blockSize)
    blocks.push(
      Buffer.from(
        values
          .slice(i, i + blockSize)
          .map((value) => `${JSON.stringify(value)}\n`)
          .join(''),
      ),
    );
  return Buffer.concat(blocks);
}

export function decodeLines(bytes: Uint8Array): unknown[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values: unknown[] = [];
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf(newline, from);
    values.push(JSON.parse(text.toString('utf8', from, end)));
    from = end + 1;
  }
  return values;
}
