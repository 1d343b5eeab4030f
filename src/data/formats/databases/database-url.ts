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

/** Reads an address; the error for another form does not repeat it. */
export function parseDatabase(where: string, text: unknown): Database {
  if (typeof text !== 'string')
    throw new ValueError(`${where}: expected ${forms} for database, got ${typeof text}.`);
  const [, file] = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(text) ?? [];
  if (file !== undefined) return { kind: 'sqlite', location: file, shown: file };
  const scheme = /^[a-z][a-z+.-]*:(?=\/\/)/i.exec(text)?.[0].toLowerCase();
  if (scheme === undefined) {
    const kind = /\.(sqlite3?|db)$/i.test(text) ? 'sqlite' : /\.(duckdb|ddb)$/i.test(text) ? 'duckdb' : null;
    if (kind !== null) return { kind, location: text, shown: text };
  }
  const url = scheme === undefined || !URL.canParse(text) ? null : new URL(text);
  const kind = schemes[scheme ?? ''];
  if (kind === undefined || url === null || url.hostname === '')
    throw new ValueError(
      `${where}: expected ${forms} for database, got ${scheme === undefined ? 'other text' : `a URL ${scheme}//…`}.`,
    );
  const user = url.username === '' ? '' : `${url.username}@`;
  return { kind, location: text, shown: `${scheme}//${user}${url.host}${url.pathname}` };
}

/** Whether the address itself contains a password, in which case it must not be stored. */
export function hasSecrets(database: string): boolean {
  if (!URL.canParse(database)) return false;
  const { password, search } = new URL(database);
  return password !== '' || search !== '';
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
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
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
