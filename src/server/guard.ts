/**
 * Checks who sends a request. A web page must not reach a server on its reader's machine: not under another name (DNS rebinding, the Host
 * header), and not from another origin (the Origin header). Clients on other machines need a token, which no page has, so
 * the Host header is checked only without one.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { HttpError } from './http-error.js';
import type { Sessions } from './page/sessions.js';

export interface GuardOptions {
  /** Accepted Host headers, with port; filled when the server listens. */
  readonly hosts: readonly string[];
  /** Null: no token is needed. */
  readonly token: string | null;
  /** Origins whose pages may send requests. */
  readonly corsOrigins: readonly string[];
  /** Sessions of the page, which need no token. */
  readonly sessions?: Sessions | undefined;
  /** Returns whether a request needs no token, besides those for health and for a link. */
  readonly isPublic?: (context: Context) => boolean;
}

/** Paths that need no token: they reveal nothing but that the server runs. */
export const isHealth = (path: string): boolean => path === '/health' || /^(\/v2)?\/health\//.test(path);

/** The path of links that open the page; a code replaces the token. */
const isLogin = (path: string, method: string): boolean => path === '/login' && method === 'GET';

export function guard({ hosts, token, corsOrigins, sessions, isPublic }: GuardOptions): MiddlewareHandler {
  const wanted = token === null ? null : digest(token);
  return async (context, next) => {
    const host = (context.req.header('host') ?? '').toLowerCase();
    if (token === null && !hosts.includes(host))
      throw new HttpError(
        403,
        'forbidden',
        `expected a request to ${hosts.join(' or ')}, got the Host header ${JSON.stringify(host.slice(0, 100))}.`,
      );
    const origin = context.req.header('origin');
    const isListed = origin !== undefined && corsOrigins.includes(origin);
    checkOrigin(context, origin, host, isListed);
    if (isListed) {
      context.header('access-control-allow-origin', origin);
      context.header('vary', 'Origin', { append: true });
      if (context.req.method === 'OPTIONS') {
        context.header('access-control-allow-methods', 'GET, POST');
        context.header('access-control-allow-headers', 'authorization, content-type, idempotency-key');
        context.header('access-control-max-age', '600');
        return context.body(null, 204);
      }
    }
    const { path, method } = context.req;
    const isFree = isHealth(path) || isLogin(path, method) || isPublic?.(context) === true;
    if (wanted !== null && !isFree && sessions?.isOpen(context) !== true) checkToken(context, wanted);
    return next();
  };
}

function checkOrigin(context: Context, origin: string | undefined, host: string, isListed: boolean): void {
  if (isListed) return;
  const isOwn = origin === undefined || origin === `http://${host}` || origin === `https://${host}`;
  // Browsers send Sec-Fetch-Site with every request, Origin not with all.
  const site = context.req.header('sec-fetch-site');
  const isForeign = site === 'cross-site' || site === 'same-site';
  const isVisit = context.req.method === 'GET' && context.req.header('sec-fetch-mode') === 'navigate';
  if (isOwn && (!isForeign || isVisit)) return;
  throw new HttpError(
    403,
    'forbidden',
    `expected a request from a program or a page of this server, got one from ${JSON.stringify((origin ?? site ?? '').slice(0, 100))}. Allow its origin with --cors-origin.`,
  );
}

function checkToken(context: Context, wanted: Buffer): void {
  const [, given] = /^Bearer +(\S+)$/i.exec(context.req.header('authorization') ?? '') ?? [];
  // Digests have one length, so the comparison takes the same time for every token.
  if (given !== undefined && timingSafeEqual(digest(given), wanted)) return;
  throw new HttpError(
    401,
    'unauthorized',
    `expected the header "Authorization: Bearer <token>", got ${given === undefined ? 'none' : 'another token'}.`,
    { headers: { 'www-authenticate': 'Bearer' } },
  );
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
