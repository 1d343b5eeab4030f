/**
 * Deflate with the compression streams of browsers and Node.js, declared as structural types so that programs do not need
 * their types.
 */
import { StateError } from '../../util/errors.js';

interface Reader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array }>;
  cancel(): Promise<void>;
}

interface Transform {
  readonly writable: { getWriter(): { write(bytes: Uint8Array): Promise<void>; close(): Promise<void> } };
  readonly readable: { getReader(): Reader };
}

type TransformClass = new (format: string) => Transform;

/** Decompresses raw deflate data to at most `size` bytes; throws a plain Error on failure or if there are more. */
export async function inflateRaw(bytes: Uint8Array, size: number): Promise<Uint8Array> {
  const out = new Uint8Array(size);
  let at = 0;
  await pump('DecompressionStream', bytes, (chunk) => {
    if (at + chunk.length > size) throw new Error(`more than ${size} bytes`);
    out.set(chunk, at);
    at += chunk.length;
  });
  return out.subarray(0, at);
}

export async function deflateRaw(bytes: Uint8Array): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  await pump('CompressionStream', bytes, (chunk) => chunks.push(chunk));
  const out = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    out.set(chunk, at);
    at += chunk.length;
  }
  return out;
}

async function pump(name: string, bytes: Uint8Array, take: (chunk: Uint8Array) => void): Promise<void> {
  const kind = (globalThis as unknown as Record<string, TransformClass | undefined>)[name];
  if (kind === undefined)
    throw new StateError(
      `npz: expected ${name} in this environment, got none. Store arrays without compression.`,
    );
  const { readable, writable } = new kind('deflate-raw');
  const reader = readable.getReader();
  const writer = writable.getWriter();
  // Streams reject shared memory. Errors of the writing side are also reported by the reading side.
  const plain = bytes.buffer instanceof ArrayBuffer ? bytes : Uint8Array.from(bytes);
  const written = writer.write(plain).then(() => writer.close());
  written.catch(() => {});
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read())
      if (next.value !== undefined) take(next.value);
    await written;
  } catch (error) {
    reader.cancel().catch(() => {});
    throw error;
  }
}
