/** The communicator of one worker follows the common contract; and what applies to it only. */
import { openCommunicator, SelfCommunicator } from 'skein/dist';
import { describe, expect, it } from 'vitest';
import { communicatorContract } from './communicator-contract.js';

describe('contract', () => {
  it.each(communicatorContract)('$name', async ({ run }) => {
    await run(new SelfCommunicator());
  });
});

it('throws when no other rank can send the expected message', () => {
  const comm = new SelfCommunicator();
  expect(() => comm.recv(0, new Float32Array(1), 9)).toThrow(/recv \(tag 9, from rank 0\).*no other rank/);
  // The receive that failed does not take a later message.
  comm.send(0, Float32Array.of(4), 9);
  const into = new Float32Array(1);
  comm.recv(0, into, 9);
  expect(into[0]).toBe(4);
});

it('throws on every call after close', () => {
  const comm = new SelfCommunicator();
  comm.close();
  expect(() => comm.barrier()).toThrow(/closed/);
});

it('is what a process without a launcher gets', () => {
  expect(openCommunicator().kind).toBe('self');
});
