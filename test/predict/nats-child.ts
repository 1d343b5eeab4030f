/** Follows a JetStream stream until it is killed; prints a line when it has begun. */
import { writeSync } from 'node:fs';
import { followNats, openStream } from 'skein/predict';

const [run, state, servers, name] = process.argv.slice(2);
const stream = await openStream(run, {
  state,
  lateness: 60,
  snapshotEvery: { events: 300 },
  onNotice: () => undefined,
});
writeSync(1, 'ready\n');
await followNats(stream, { servers, stream: name }).done;
