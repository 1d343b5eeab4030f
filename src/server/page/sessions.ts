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

const cookieName = 'skein_session';

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

export class Sessions {
  /** Digests, with the time at which they expire. */
  readonly #codes = new Map<string, number>();
  readonly #sessions = new Map<string, number>();
  readonly #path: string;
  readonly #now: () => number;

  /** @param basePath the path below which cookies are sent */
  constructor(basePath = '', now: () => number = Date.now) {
    this.#path = `${basePath}/`;
    this.#now = now;
  }

  /** Returns the path of a link that opens the page once, within a quarter of an hour. */
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
    if (expires === undefined || expires < this.#now())
      throw new HttpError(
        401,
        'unauthorized',
        'expected a link that has not been used, got one that was used or has expired. Ask for a new one: POST /login with the token, or start the server again.',
      );
    const session = randomBytes(32).toString('base64url');
    remember(this.#sessions, digest(session), this.#now() + sessionLife);
    setCookie(context, cookieName, session, {
      ...{ httpOnly: true, sameSite: 'Strict', path: this.#path, maxAge: sessionLife / 1000 },
      secure: new URL(context.req.url).protocol === 'https:',
    });
    context.header('referrer-policy', 'no-referrer');
    // A redirect of a visit from another site would be sent without the cookie; a page that leads on is not.
    return context.html(
      '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=./"><title>Skein</title><a href="./">Open Skein</a>',
    );
  }

  /** Returns whether a request comes from a page that has been opened by a link. */
  isOpen(context: Context): boolean {
    const session = getCookie(context, cookieName);
    if (session === undefined) return false;
    const expires = this.#sessions.get(digest(session));
    return expires !== undefined && expires >= this.#now();
  }

  logout(context: Context): void {
    const session = getCookie(context, cookieName);
    if (session !== undefined) this.#sessions.delete(digest(session));
    deleteCookie(context, cookieName, { path: this.#path });
  }
}

function remember(known: Map<string, number>, key: string, expires: number): void {
  known.set(key, expires);
  const [oldest] = known.keys();
  if (known.size > most && oldest !== undefined) known.delete(oldest);
}
