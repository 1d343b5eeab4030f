/** The parts of `--source` and `--source-fields`. */
import { describe, expect, it } from 'vitest';
import { parseBroker, parseSourceFields, parseStreamSource } from './stream-source.js';

describe('parseBroker', () => {
  it('reads server, stream, subjects and credentials', () => {
    expect(parseBroker('nats://127.0.0.1:4222/ORDERS')).toEqual({
      servers: 'nats://127.0.0.1:4222',
      stream: 'ORDERS',
    });
    expect(parseBroker('tls://ana:p%40ss@broker/ORDERS?subjects=orders.*,returns')).toEqual({
      ...{ servers: 'tls://broker', stream: 'ORDERS', subjects: ['orders.*', 'returns'] },
      ...{ user: 'ana', password: 'p@ss' },
    });
  });

  it.each(['nats://', 'nats://host', 'nats://host/', 'nats://host/a.b', 'nats://host/a/b'])(
    'rejects %s',
    (text) => {
      expect(() => parseBroker(text)).toThrow(/expected nats:\/\/host:port\/STREAM/);
    },
  );

  it('rejects other parameters, and never repeats the password', () => {
    expect(() => parseBroker('nats://ana:secret@host/S?subject=a')).toThrow(
      /expected only subjects .* got subject\.$/,
    );
    expect(() => parseBroker('nats://ana:secret@host')).not.toThrow(/secret/);
    expect(() => parseBroker('nats://ana:secret%zz@host/S')).toThrow(/^serve: expected two hex[^z]*$/);
  });
});

describe('parseSourceFields', () => {
  it('maps fields of events to fields of messages', () => {
    expect(parseSourceFields('')).toEqual({});
    expect(parseSourceFields('head=user,tail=payload.page,features=x+y')).toEqual({
      head: 'user',
      tail: 'payload.page',
      features: ['x', 'y'],
    });
  });

  it.each(['user', 'user=head', 'head=', 'head=a=b'])('rejects %s', (text) => {
    expect(() => parseSourceFields(text)).toThrow(`got "${text}"`);
  });
});

it('rejects brokers that it does not know', () => {
  const start = () => parseStreamSource('kafka://host/topic', {});
  expect(start).toThrow(/expected -, a file or nats:.* begins with kafka:/);
});

it('rejects files that are not there, and directories', () => {
  expect(() => parseStreamSource('no such file.ndjson', {})).toThrow(/no such file\.ndjson, got ENOENT/);
  expect(() => parseStreamSource('.', {})).toThrow('expected a file for --source');
});
