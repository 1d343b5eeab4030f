/** Answers of the server in the page. */
import { afterEach, expect, it, vi } from 'vitest';
import { get, RequestError } from '../../web/lib/api.js';

afterEach(() => {
  vi.unstubAllGlobals();
});

const answer = (body: BodyInit, status = 200): void => {
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(body, { status })));
};

it('rejects when an answer is aborted while it is read', async () => {
  const aborted = new ReadableStream({
    start: (controller) => controller.error(new DOMException('aborted', 'AbortError')),
  });
  answer(aborted);
  await expect(get('names')).rejects.toThrow('aborted');
});

it('errors are those that the server states, or its status', async () => {
  answer('{"error":"no such node","suggestions":["a"]}', 404);
  await expect(get('names')).rejects.toMatchObject({ message: 'no such node', suggestions: ['a'] });
  answer('<html>', 502);
  await expect(get('names')).rejects.toThrow(RequestError);
});
