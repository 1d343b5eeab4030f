/** The end of `serveMcp`: all models are closed, also after one that fails. */
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { expect, test } from 'vitest';
import { serveMcp } from '#internal/server/index.js';
import { fakeModel } from './fake-model.js';

test('a model that cannot be closed does not keep the others open', async () => {
  const [first, second] = [fakeModel({ name: 'first' }), fakeModel({ name: 'second' })];
  const stuck = {
    ...first,
    open: async () => {
      const opened = await first.open();
      return {
        ...opened,
        predictor: { ...opened.predictor, close: () => Promise.reject(new Error('stuck')) },
      };
    },
  };
  const [transport] = InMemoryTransport.createLinkedPair();
  const server = await serveMcp({ models: [stuck, second], transport });
  await expect(server.close()).rejects.toThrow('stuck');
  expect(second.closed).toBe(1);
});
