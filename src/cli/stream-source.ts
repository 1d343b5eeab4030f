/** `--source` of `skein serve`: where a stream takes events from besides POST /events. */
import { accessSync, constants, statSync } from 'node:fs';
import {
  type DurableStream,
  type FieldMapping,
  followFile,
  followInput,
  followNats,
  type StreamSource,
} from '../predict/index.js';
import { storageError } from '../storage/atomic-file.js';
import { expected, ValueError } from '../util/errors.js';

const fieldNames = ['head', 'tail', 'time', 'id', 'type', 'features'] as const;

/**
 * Checks a source and returns the function that starts it: `-` is the standard input, `nats://host:port/STREAM` a broker,
 * all else a file that grows, which must exist.
 */
export function parseStreamSource(
  text: string,
  fields: FieldMapping,
): (stream: DurableStream) => StreamSource {
  if (text === '-') return (stream) => followInput(stream, process.stdin, { fields });
  if (/^(nats|tls):\/\//.test(text)) {
    const broker = parseBroker(text);
    return (stream) => followNats(stream, { ...broker, fields });
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//.test(text))
    throw new ValueError(
      `serve: expected -, a file or nats://host:port/STREAM for --source, got a URL that begins with ${text.slice(0, text.indexOf(':'))}:.`,
    );
  checkFile(text);
  return (stream) => followFile(stream, text, { fields });
}

function checkFile(path: string): void {
  let isDirectory: boolean;
  try {
    accessSync(path, constants.R_OK);
    isDirectory = statSync(path).isDirectory();
  } catch (error) {
    throw storageError('open', path, error);
  }
  if (isDirectory) throw new ValueError(expected('serve', 'a file', '--source', path, 'It is a directory.'));
}

/** The parts of `nats://user:password@host:4222/STREAM?subjects=orders.*,returns`. Messages never contain the password. */
export function parseBroker(text: string): {
  readonly servers: string;
  readonly stream: string;
  readonly subjects?: readonly string[];
  readonly user?: string;
  readonly password?: string;
} {
  const url = URL.canParse(text) ? new URL(text) : null;
  const stream = decode(url?.pathname.slice(1) ?? '');
  if (url === null || url.host === '' || !/^[^/.*> ]+$/.test(stream))
    throw new ValueError(
      'serve: expected nats://host:port/STREAM for --source, got a URL without a host or the name of a JetStream stream.',
    );
  const unknown = [...url.searchParams.keys()].find((key) => key !== 'subjects');
  if (unknown !== undefined)
    throw new ValueError(`serve: expected only subjects after ? in --source, got ${unknown}.`);
  const subjects = url.searchParams.get('subjects')?.split(',');
  return {
    servers: `${url.protocol}//${url.host}`,
    stream,
    ...(subjects === undefined ? {} : { subjects }),
    ...(url.username === '' ? {} : { user: decode(url.username) }),
    ...(url.password === '' ? {} : { password: decode(url.password) }),
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // The text may be a password, so the message does not repeat it.
    throw new ValueError(
      'serve: expected two hexadecimal digits after every % in --source, got others. Write % itself as %25.',
    );
  }
}

/** Parses `head=user,tail=page,time=at`. Several fields of features are separated by `+`. */
export function parseSourceFields(text: string): FieldMapping {
  const mapping: Record<string, string | string[]> = {};
  for (const part of text.split(',').filter((one) => one !== '')) {
    const [name, field, ...rest] = part.split('=');
    if (!fieldNames.some((known) => known === name) || field === undefined || field === '' || rest.length > 0)
      throw new ValueError(
        `serve: expected pairs such as head=user for --source-fields, with ${fieldNames.join(', ')} on the left, got "${part}".`,
      );
    mapping[name] = name === 'features' && field.includes('+') ? field.split('+') : field;
  }
  return mapping;
}
