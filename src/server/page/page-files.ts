/**
 * The files of the page: small, few and read once, so they are kept in memory. Every one is listed when the server starts, so no
 * path of a request ever reaches the file system.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

export interface PageFile {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer>;
  /** Whether the name contains a hash of the content, so that browsers may keep it. */
  readonly isHashed: boolean;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The built page: next to the published JavaScript, or in dist of a checkout. */
const folders = ['../../web/', '../../../dist/web/'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/** Returns the files by path, such as `/index.html`; null if the page has not been built. */
export function readPageFiles(): ReadonlyMap<string, PageFile> | null {
  const folder = folders.find((path) => existsSync(join(path, 'index.html')));
  if (folder === undefined) return null;
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && extname(entry.name) in types)
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    names.map((path) => {
      const name = path.slice(folder.length - 1).replaceAll('\\', '/');
      const bytes = new Uint8Array(readFileSync(path));
      const type = types[extname(path)];
      return [
        name,
        { type, bytes, gzipped: new Uint8Array(gzipSync(bytes)), isHashed: name.startsWith('/assets/') },
      ] as const;
    }),
  );
}
