/**
 * Sessions of the page behind a token. A link with a code that works once sets a cookie, so that the token itself never stands
 * in an address, a history or a log. Codes and sessions are in memory only and end with the server.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { HttpError } from '../http-error.js';

/** Milliseconds that a code may wait for its use. */
const codeLife = 15 * 60_000;
const sessionLife = 30 * 86_400_000;
/** Codes and sessions at once; the oldest make room. */
const most = 100;

/** Browsers send cookies to all ports of a host, so that two servers on one host need different names. */
const cookieName = (context: Context): string => {
  const { port, protocol } = new URL(context.req.url);
  return `skein_session_${port || protocol.replace(':', '')}`;
};

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

export class Sessions {
  /** Digests, with the time at which they expire. */
  readonly #codes = new Map<string, number>();
  readonly #sessions = new Map<string, number>();
  /** The path below which a proxy shows the server. */
  readonly basePath: string;
  readonly #path: string;
  readonly #now: () => number;

  /** @param basePath the path below which cookies are sent */
  constructor(basePath = '', now: () => number = Date.now) {
    this.basePath = basePath;
    this.#path = `${basePath}/`;
    this.#now = now;
  }

  /** Returns the path, behind `basePath`, of a link that opens the page once, within a quarter of an hour. */
  newLink(): string {
    const code = randomBytes(24).toString('base64url');
    remember(this.#codes, digest(code), this.#now() + codeLife);
    return `/login?code=${code}`;
  }

  /** Answers a link: sets the cookie and leads to the page. */
  login(context: Context): Response {
    const key = digest(context.req.query('code') ?? '');
    const expires = this.#codes.get(key);
    this.#codes.delete(key);
    if (expires === undefined || expires < this.#now()) return refuse(context);
    const session = randomBytes(32).toString('base64url');
    remember(this.#sessions, digest(session), this.#now() + sessionLife);
    setCookie(context, cookieName(context), session, {
      ...{ httpOnly: true, sameSite: 'Strict', path: this.#path, maxAge: sessionLife / 1000 },
      secure: new URL(context.req.url).protocol === 'https:',
    });
    context.header('referrer-policy', 'no-referrer');
    // A redirect of a visit from another site would be sent without the cookie; a page that leads on is not.
    return context.html(
      htmlPage('<meta http-equiv="refresh" content="0;url=./">', '<a href="./">Open Skein</a>'),
    );
  }

  /** Returns whether a request comes from a page that has been opened by a link. */
  isOpen(context: Context): boolean {
    const session = getCookie(context, cookieName(context));
    if (session === undefined) return false;
    const expires = this.#sessions.get(digest(session));
    return expires !== undefined && expires >= this.#now();
  }

  logout(context: Context): void {
    const session = getCookie(context, cookieName(context));
    if (session !== undefined) this.#sessions.delete(digest(session));
    deleteCookie(context, cookieName(context), { path: this.#path });
  }
}

/** Answers a link that opens nothing. */
function refuse(context: Context): Response {
  const advice =
    'Ask for a new one: POST /login with the token, or start the server again, which prints one.';
  if ((context.req.header('accept') ?? '').includes('text/html'))
    return context.html(htmlPage('', `<p>This link was used before or has expired. ${advice}</p>`), 401);
  throw new HttpError(
    401,
    'unauthorized',
    `expected a link that has not been used, got one that was used or has expired. ${advice}`,
  );
}

const htmlPage = (head: string, body: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8">${head}<title>Skein</title>${body}</html>`;

function remember(known: Map<string, number>, key: string, expires: number): void {
  known.set(key, expires);
  const [oldest] = known.keys();
  if (known.size > most && oldest !== undefined) known.delete(oldest);
}
