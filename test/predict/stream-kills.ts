/** Kills a stream under load again and again; it must end as one that was left alone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { program } from '../programs.js';
import { noise } from './stream-fixtures.js';

export interface EndOfStream {
  readonly version: number;
  readonly digest: string;
  readonly kills: number;
}

/** Runs the stream with `kills` kills; each comes some acknowledgements after the start. */
export async function runWithKills(
  run: string,
  folder: string,
  events: number,
  kills: number,
  acksPerLife: number,
): Promise<EndOfStream> {
  const acknowledged = new Set<number>();
  const ackFile = join(folder, 'acknowledged.txt');
  for (let life = 0; ; life++) {
    writeFileSync(ackFile, [...acknowledged].join('\n'));
    const args = [
      program('test/predict/stream-child.ts'),
      run,
      join(folder, 'state'),
      ackFile,
      `${events}`,
      `${life}`,
    ];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const exit = once(child, 'exit');
    const until = life < kills ? Math.floor(acksPerLife * 2 * noise(life, 31)) : Number.POSITIVE_INFINITY;
    let acks = 0;
    let [version, digest] = [-1, ''];
    const kill = (): void => {
      setTimeout(() => child.kill('SIGKILL'), 8 * noise(life, 32));
    };
    for await (const line of createInterface({ input: child.stdout })) {
      const [word, value] = line.split(' ');
      if (word === 'ack') acknowledged.add(Number(value));
      if (word === 'version') version = Number(value);
      if (word === 'digest') digest = value;
      if (word === 'ready' && until === 0) kill();
      if (word === 'ack' && ++acks === until) kill();
    }
    const [code, signal] = await exit;
    if (digest !== '') return { version, digest, kills: life };
    if (signal !== 'SIGKILL') throw new Error(`The stream ended with code ${code}.`);
  }
}
