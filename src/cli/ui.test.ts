/** Errors of `skein ui` before its page is there. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { Output } from '../train/index.js';
import { openPage } from './ui.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-ui-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const output = new Output({ json: false });
const token = 'a-token-of-many-letters';

it('tells a wrong host from a port that is in use, as errors of ui', async () => {
  // 192.0.2.0/24 is for documentation: no machine has such an address.
  const host = '192.0.2.1';
  await expect(openPage([folder], { port: 0, output, host, token })).rejects.toThrow(
    /^ui: expected an address or a name of this machine for --host, got 192\.0\.2\.1 \(EADDRNOTAVAIL\)\. /,
  );
  const { server } = await openPage([folder], { port: 0, output });
  const port = Number(new URL(server.url).port);
  await expect(openPage([folder], { port, output })).rejects.toThrow(
    /^ui: expected a free port, got 127\.0\.0\.1:\d+ \(EADDRINUSE\)/,
  );
  await server.close();
  await expect(openPage([folder], { port: 0, output, host: '0.0.0.0' })).rejects.toThrow(
    /^ui: expected a token/,
  );
});

it('links to the loopback address if it listens on every one', async () => {
  const { server } = await openPage([folder], { port: 0, output, host: '0.0.0.0', token });
  expect(server.pageLink()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/login\?code=/);
  await server.close();
});
