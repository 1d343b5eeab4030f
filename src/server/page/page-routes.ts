/**
 * Serves the page. `GET /` is the page for browsers and the index for programs. The page loads nothing from elsewhere, and its
 * content security policy forbids it to.
 */
import type { Context, MiddlewareHandler } from 'hono';
import { type PageFile, readPageFiles } from './page-files.js';

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  // Charts set the sizes of their elements.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Answers requests for files of the page; passes on all others. Without a built page it passes on everything. */
export function servePage(files = readPageFiles()): MiddlewareHandler {
  return async (context, next) => {
    const file = files === null ? undefined : fileFor(files, context);
    return file === undefined ? next() : answer(context, file);
  };
}

function fileFor(files: ReadonlyMap<string, PageFile>, { req }: Context): PageFile | undefined {
  if (req.method !== 'GET' && req.method !== 'HEAD') return undefined;
  if (req.path !== '/') return req.path === '/index.html' ? undefined : files.get(req.path);
  return (req.header('accept') ?? '').includes('text/html') ? files.get('/index.html') : undefined;
}

function answer(context: Context, { type, bytes, gzipped, isHashed }: PageFile): Response {
  const isGzipped = /\bgzip\b/.test(context.req.header('accept-encoding') ?? '');
  context.header('content-type', type);
  context.header('content-security-policy', policy);
  context.header('referrer-policy', 'no-referrer');
  context.header('vary', 'Accept, Accept-Encoding');
  context.header('cache-control', isHashed ? 'private, max-age=31536000, immutable' : 'no-cache');
  if (isGzipped) context.header('content-encoding', 'gzip');
  return context.body(isGzipped ? gzipped : bytes);
}
