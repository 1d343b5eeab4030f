/**
 * Writes protocol-buffer messages: fields with their numbers, in the order of the calls. Supports what ONNX models and
 * TensorBoard's event files need: integers, floats, text, bytes and nested messages.
 *
 * Format: https://protobuf.dev/programming-guides/encoding/.
 */

const varint = 0;
const delimited = 2;
const fixed64 = 1;
const fixed32 = 5;

export class ProtoWriter {
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Writes an integer of at most 53 bits; negative ones take ten bytes, as the format requires. */
  integer(field: number, value: number): this {
    this.#tag(field, varint);
    return this.#push(Uint8Array.from(varintBytes(value)));
  }

  float(field: number, value: number): this {
    this.#tag(field, fixed32);
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setFloat32(0, value, true);
    return this.#push(bytes);
  }

  double(field: number, value: number): this {
    this.#tag(field, fixed64);
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setFloat64(0, value, true);
    return this.#push(bytes);
  }

  text(field: number, value: string): this {
    return this.bytes(field, new TextEncoder().encode(value));
  }

  /** The bytes are not copied until `finish`. */
  bytes(field: number, value: Uint8Array): this {
    this.#tag(field, delimited);
    this.#push(Uint8Array.from(varintBytes(value.length)));
    return this.#push(value);
  }

  message(field: number, inner: ProtoWriter): this {
    this.#tag(field, delimited);
    this.#push(Uint8Array.from(varintBytes(inner.#length)));
    for (const chunk of inner.#chunks) this.#push(chunk);
    return this;
  }

  finish(): Uint8Array {
    const out = new Uint8Array(this.#length);
    let at = 0;
    for (const chunk of this.#chunks) {
      out.set(chunk, at);
      at += chunk.length;
    }
    return out;
  }

  #tag(field: number, type: number): void {
    this.#push(Uint8Array.from(varintBytes(field * 8 + type)));
  }

  #push(bytes: Uint8Array): this {
    this.#chunks.push(bytes);
    this.#length += bytes.length;
    return this;
  }
}

/** Encodes seven bits per byte, the lowest first. */
function varintBytes(value: number): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return bytes;
}
