/**
 * Serves the page. `GET /` is the page for browsers and the index for programs. The page loads nothing from elsewhere, and its
 * content security policy forbids it to.
 */
import type { Context, MiddlewareHandler } from 'hono';
import { type PageFile, readPageFiles } from './page-files.js';

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  // No text becomes markup or code.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** The policy of all other answers, which are data. */
export const dataPolicy = "default-src 'none'; frame-ancestors 'none'";

export interface Page {
  /** Whether a request asks for a file of the page. These contain nothing of a user, so they need no token. */
  isFile(context: Context): boolean;
  /** Answers requests for files of the page; passes on all others. */
  readonly serve: MiddlewareHandler;
}

/**
 * Returns the page; without a built one it has no files.
 *
 * @param basePath the path below which a proxy shows the server
 */
export function openPage(basePath = '', files = readPageFiles()): Page {
  const find = (context: Context): PageFile | undefined =>
    files === null ? undefined : fileFor(files, context);
  return {
    isFile: (context) => find(context) !== undefined,
    serve: async (context, next) => {
      const file = find(context);
      if (file === undefined) return next();
      // Addresses of the page are relative, so they need the slash.
      if (basePath !== '' && new URL(context.req.url).pathname === basePath)
        return context.redirect(`${basePath}/`, 308);
      return answer(context, file);
    },
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
  context.header('cross-origin-resource-policy', 'same-origin');
  context.header('vary', 'Accept, Accept-Encoding', { append: true });
  context.header('cache-control', isHashed ? 'private, max-age=31536000, immutable' : 'no-cache');
  if (isGzipped) context.header('content-encoding', 'gzip');
  return context.body(isGzipped ? gzipped : bytes);
}
