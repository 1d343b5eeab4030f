/** `--source` of `skein serve`: where a stream takes events from besides POST /events. */
import {
  type DurableStream,
  type FieldMapping,
  followFile,
  followInput,
  followNats,
  type StreamSource,
} from '../predict/index.js';
import { ValueError } from '../util/errors.js';

const fieldNames = ['head', 'tail', 'time', 'id', 'type', 'features'] as const;

/** Starts a source: `-` is the standard input, `nats://host:port/STREAM` a broker, all else a file that grows. */
export function startStreamSource(stream: DurableStream, text: string, fields: FieldMapping): StreamSource {
  if (text === '-') return followInput(stream, process.stdin, { fields });
  if (/^(nats|tls):\/\//.test(text)) return followNats(stream, { ...parseBroker(text), fields });
  if (/^[a-z][a-z0-9+.-]*:\/\//.test(text))
    throw new ValueError(
      `serve: expected -, a file or nats://host:port/STREAM for --source, got a URL that begins with ${text.slice(0, text.indexOf(':'))}:.`,
    );
  return followFile(stream, text, { fields });
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
  const stream = decodeURIComponent(url?.pathname.slice(1) ?? '');
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
    ...(url.username === '' ? {} : { user: decodeURIComponent(url.username) }),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
  };
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
