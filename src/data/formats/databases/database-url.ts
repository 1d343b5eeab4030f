/**
 * Addresses of databases. A URL may contain a password, which must not appear in messages, logs and files: everything outside
 * the drivers uses `shown`, and messages of drivers pass through `databaseError`.
 */
import { StorageError, ValueError } from '../../../util/errors.js';

export type DatabaseKind = 'postgres' | 'mysql' | 'sqlite' | 'duckdb';

export interface Database {
  readonly kind: DatabaseKind;
  /** The URL, or the path of a file. */
  readonly location: string;
  /** The address without a password and without options. */
  readonly shown: string;
}

const schemes: Readonly<Record<string, DatabaseKind>> = {
  'postgres:': 'postgres',
  'postgresql:': 'postgres',
  'mysql:': 'mysql',
  'mariadb:': 'mysql',
};

const forms =
  'postgres://user@host/name, mysql://user@host/name, sqlite:FILE or a file .sqlite, .db or .duckdb';

/**
 * Forms of a mistyped address, such as `ana:password@host/x.db`, that would otherwise be taken for a file, whose path messages
 * repeat. A file of such a name can be given with its folder, `./`.
 */
const addressForm = /:\/\/|^(?![a-z]:[\\/])[\\/]*[^\\/]*:.*@/is;

/** Reads an address; the error for another form does not repeat it. */
export function parseDatabase(where: string, given: unknown): Database {
  if (typeof given !== 'string')
    throw new ValueError(`${where}: expected ${forms} for database, got ${typeof given}.`);
  const text = given.trim();
  const [, file] = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(text) ?? [];
  if (file !== undefined && !addressForm.test(file)) return { kind: 'sqlite', location: file, shown: file };
  const scheme = /^[a-z][a-z+.-]*:(?=\/\/)/i.exec(text)?.[0].toLowerCase();
  if (!addressForm.test(text)) {
    const kind = /\.(sqlite3?|db)$/i.test(text) ? 'sqlite' : /\.(duckdb|ddb)$/i.test(text) ? 'duckdb' : null;
    if (kind !== null) return { kind, location: text, shown: text };
  }
  const url = scheme === undefined || !URL.canParse(text) ? null : new URL(text);
  const kind = schemes[scheme ?? ''];
  if (kind === undefined || url === null || url.hostname === '')
    throw new ValueError(
      `${where}: expected ${forms} for database, got ${scheme === undefined ? 'other text' : `a URL ${scheme}//…`}.`,
    );
  checkParts(where, url);
  const user = url.username === '' ? '' : `${url.username}@`;
  return { kind, location: text, shown: `${scheme}//${user}${url.host}${url.pathname}` };
}

/** Throws for signs in a password that must be encoded: drivers cannot decode them, or it would be taken for a path. */
function checkParts(where: string, { username, password, pathname, hash }: URL): void {
  const advice = (sign: string, code: string): string =>
    `Write ${sign} in the user, the password and the name of the database as ${code}.`;
  if ([username, password, pathname].some((part) => !isEncoded(part)))
    throw new ValueError(
      `${where}: expected an encoded URL for database, got a % without a code. ${advice('%', '%25')}`,
    );
  if (/@/.test(pathname + hash))
    throw new ValueError(
      `${where}: expected an encoded URL for database, got @ after the host. ${advice('/, # and @', '%2F, %23 and %40')}`,
    );
}

/** Whether the address itself contains a password, in which case it must not be stored. */
export function hasSecrets(database: string): boolean {
  const text = database.trim();
  if (!/^[a-z][a-z+.-]*:\/\//i.test(text) || !URL.canParse(text))
    return addressForm.test(text.replace(/^sqlite:/, '')) && text.includes('@');
  const { password, search, pathname, hash } = new URL(text);
  return password !== '' || search !== '' || /@/.test(pathname + hash);
}

/** Replaces the address and its password in the message of a driver. */
function hideSecrets({ location, shown }: Database, message: string): string {
  let text = message.replaceAll(location, shown);
  if (!URL.canParse(location)) return text;
  const { password, searchParams } = new URL(location);
  const secrets = [password, ...[...searchParams.values()].filter((value) => value.length > 3)];
  for (const secret of secrets.flatMap((one) => [one, decode(one)]))
    if (secret !== '') text = text.replaceAll(secret, '***');
  return text;
}

function decode(text: string): string {
  return isEncoded(text) ? decodeURIComponent(text) : text;
}

/** Whether `decodeURIComponent` takes the text. */
function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the error for a query, or for a connection, that failed. Drivers keep the address in their errors: no cause. */
export function databaseError(
  database: Database,
  error: unknown,
  about: { readonly isQuery: boolean; readonly password: string },
): Error {
  const { message, code } = error as Error & { readonly code?: string };
  const got = hideSecrets(database, (message || code || 'an error').split('\n')[0]).replace(/\.$/, '');
  return about.isQuery
    ? new ValueError(`${database.shown}: expected a query that the database runs, got ${got}.`)
    : new StorageError(
        `${database.shown}: expected a connection, got ${got}. Check the address, the user and the password (in the URL, or in ${about.password}).`,
        { path: database.shown },
      );
}
