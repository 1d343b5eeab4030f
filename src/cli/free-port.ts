/** A port of the loopback address for a page. */
import { createServer } from 'node:net';

/** Returns a port if it is free, otherwise 0, which takes any. */
export async function freePort(port: number): Promise<number> {
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => resolve(true));
  });
  if (isFree) await new Promise((resolve) => server.close(resolve));
  return isFree ? port : 0;
}
