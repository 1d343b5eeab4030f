/**
 * Serves a stream under load until it is killed: sends the requests that have not been acknowledged, several at a time and
 * out of order within the lateness, and some that have been. Prints `ready`, `ack <request>` for each request that was
 * answered, and in the end the version and the digest of the stream.
 */
import { readFileSync, writeSync } from 'node:fs';
import { openStream } from 'skein/predict';
import { laterEvents, noise, requestsOf } from './stream-fixtures.js';

const [run, state, ackFile, countText, saltText] = process.argv.slice(2);
const salt = Number(saltText);
const print = (line: string): void => {
  writeSync(1, `${line}\n`);
};
const requests = requestsOf(laterEvents(Number(countText)), 20);
const acknowledged = new Set(readFileSync(ackFile, 'utf8').split('\n').filter(Boolean).map(Number));
const stream = await openStream(run, {
  ...{ state, lateness: 60, maxLag: 1_000_000, snapshotEvery: { events: 700 }, onNotice: () => undefined },
});
print('ready');
// A request covers 10 units of time, so one that is two places away stays within the lateness.
const due = requests
  .map((events, i) => ({ events, i, at: i + 2 * noise(i, salt) }))
  .filter(({ i }) => !acknowledged.has(i) || noise(i, salt + 1) < 0.05)
  .sort((a, b) => a.at - b.at);
for (const group of requestsOf(due, 2))
  await Promise.all(
    group.map(async ({ events, i }) => {
      const { outcomes } = await stream.append(
        events,
        noise(i, 5) < 0.5 ? {} : { requestId: `request ${i}` },
      );
      if (outcomes.includes('late')) throw new Error(`late events in request ${i}`);
      print(`ack ${i}`);
    }),
  );
await stream.flush();
print(`version ${stream.version}`);
print(`digest ${stream.digest()}`);
await stream.close();
