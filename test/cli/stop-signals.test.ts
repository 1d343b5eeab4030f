/** `skein preprocess` that is stopped leaves nothing next to its output. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { skein as main } from '../programs.js';
import { shell, workFolder } from './processes.js';

const folder = workFolder();

test.skipIf(process.platform === 'win32').each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s',
  async (signal) => {
    // A pipe without a writer: the work lasts until it is stopped.
    const pipe = join(folder, `${signal}.csv`);
    expect(shell(`mkfifo ${signal}.csv`, folder).code).toBe(0);
    const args = ['preprocess', '--edges', pipe, '--output-directory', join(folder, signal)];
    const child = spawn(process.execPath, [...main, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    let text = '';
    child.stderr.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    const ended = once(child, 'close');
    const left = (): string[] => readdirSync(folder).filter((name) => name.endsWith('.tmp'));
    while (left().length === 0 && child.exitCode === null) await setTimeout(50);
    expect(left()).toHaveLength(1);
    child.kill(signal);
    const [code] = await ended;
    expect({ code, cancelled: text.includes('preprocess: cancelled') }).toEqual({ code: 2, cancelled: true });
    expect(left()).toEqual([]);
  },
  60_000,
);
