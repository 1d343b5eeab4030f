/**
 * Two hosts on one machine: network namespaces with a cable between them, each with its own host name and process ids, so
 * that MPI must use TCP and no rank sees the others' processes. A run across both, then a cable that is cut.
 *
 * Needs root, and Open MPI's mpirun with a remote shell of our own (`plm_rsh_agent`) that enters the other namespace.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { communicatorContract } from '../dist/communicator-contract.js';
import { nnCases } from '../dist/nn-cases.js';
import { program, root, skein } from '../programs.js';

const runs = (program: string, ...args: string[]) => spawnSync(program, args, { encoding: 'utf8' });

/** Two hosts: namespace, end of the cable, address. */
const hosts = ['alpha', 'beta'].map((name, i) => ({
  name,
  space: `skein-${process.pid}-${name}`,
  link: `sk${process.pid}${name[0]}`,
  address: `10.77.0.${i + 1}`,
}));
const [alpha, beta] = hosts;
let folder = '';

function ip(...args: string[]): void {
  const { status, stderr } = runs('ip', ...args);
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
}

function whyNot(): string {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs root on Linux';
  if (!existsSync(`${root}/build/mpi.node`)) return 'needs build/mpi.node';
  if (!(runs('mpirun', '--version').stdout ?? '').includes('Open MPI')) return "needs Open MPI's mpirun";
  if (runs('unshare', '--uts', '--pid', '--fork', 'true').status !== 0) return 'needs unshare';
  if (runs('ip', 'netns', 'add', alpha.space).status !== 0) return 'may not make network namespaces';
  ip('netns', 'del', alpha.space);
  return '';
}

const reason = whyNot();

/** Runs a shell command with the network, name and process ids of a host. */
const enter = (space: string) =>
  `ip netns exec ${space} unshare --uts --pid --fork --mount-proc --kill-child`;

/** Processes in the namespace of a host. */
function pidsOn({ space }: { readonly space: string }): number[] {
  const { stdout } = runs('ip', 'netns', 'pids', space);
  return stdout.split('\n').filter(Boolean).map(Number);
}

interface Job {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly ended: Promise<{ readonly code: number | null; readonly err: string }>;
}

/** `skein run` on the first host, with two workers on each. */
function skeinRun(...command: readonly string[]): Job {
  const list = hosts.map(({ address }) => `${address}:2`).join(',');
  const line = [process.execPath, ...skein, 'run', '--hosts', list];
  const whole = [...line, '--all-output', '--', ...command].map((word) => `'${word}'`).join(' ');
  const [enterer, ...args] = enter(alpha.space).split(' ');
  const child = spawn(enterer, [...args, 'sh', '-c', `hostname ${alpha.name}; exec ${whole}`], {
    cwd: root,
    env: {
      ...process.env,
      SKEIN_THREADS: '1',
      OMPI_MCA_plm_rsh_agent: join(folder, 'remote-shell'),
      // Files left by a killed launcher are removed with the folder.
      OMPI_MCA_orte_tmpdir_base: folder,
      OMPI_MCA_btl: 'tcp,self',
      OMPI_MCA_btl_tcp_if_include: '10.77.0.0/24',
      OMPI_MCA_oob_tcp_if_include: '10.77.0.0/24',
      OMPI_MCA_mpi_yield_when_idle: '1',
    },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (data) => {
    out += data;
  });
  child.stderr.on('data', (data) => {
    err += data;
  });
  const ended = new Promise<{ code: number | null; err: string }>((resolve) => {
    child.on('close', (code) => resolve({ code, err }));
  });
  return { child, out: () => out, ended };
}

/** The JSON lines of all ranks, without the rank that the launcher puts before each. */
const linesOf = (text: string) =>
  [...text.matchAll(/\{"rank".*\}/g)].map(([line]) => JSON.parse(line) as Record<string, unknown>);

const worker = (file: string, ...args: string[]) => [process.execPath, program(`test/dist/${file}`), ...args];

async function until(condition: () => boolean, seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000;
  while (!condition() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 100));
}

describe.skipIf(reason !== '')(`two hosts${reason === '' ? '' : ` (skipped: ${reason})`}`, () => {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'skein-hosts-'));
    for (const { space } of hosts) ip('netns', 'add', space);
    const ends = hosts.map(({ link, space }) => [link, 'netns', space]);
    ip('link', 'add', ...ends[0], 'type', 'veth', 'peer', 'name', ...ends[1]);
    for (const { space, link, address } of hosts) {
      ip('-n', space, 'addr', 'add', `${address}/24`, 'dev', link);
      ip('-n', space, 'link', 'set', 'lo', 'up');
      ip('-n', space, 'link', 'set', link, 'up');
    }
    const shell = join(folder, 'remote-shell');
    writeFileSync(
      shell,
      `#!/bin/sh\nshift\nexec ${enter(beta.space)} sh -c "hostname ${beta.name}; cd '${root}'; $*"\n`,
    );
    chmodSync(shell, 0o755);
  });

  afterAll(() => {
    for (const host of hosts) {
      for (const pid of pidsOn(host)) process.kill(pid, 'SIGKILL');
      runs('ip', 'netns', 'del', host.space);
    }
    rmSync(folder, { recursive: true, force: true });
  });

  it('keeps the contract of communicators', async () => {
    const job = skeinRun(...worker('mpi-worker.ts', 'contract'));
    const { code, err } = await job.ended;
    const lines = linesOf(job.out());
    expect(lines.filter(({ error }) => error !== '')).toEqual([]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(lines.length).toBe(4 * communicatorContract.length);
  });

  it('puts two workers on each host, which do not see each other', async () => {
    const job = skeinRun(...worker('mpi-worker.ts', 'where'));
    expect((await job.ended).code).toBe(0);
    const places = linesOf(job.out()).sort((a, b) => Number(a.rank) - Number(b.rank));
    expect(places.map(({ host }) => host)).toEqual(['alpha', 'alpha', 'beta', 'beta']);
  });

  it('agrees on all ranks whether windows can be used, and works in any case', async () => {
    const job = skeinRun(...worker('mpi-worker.ts', 'one-sided', '{"oneSided":true}'));
    expect((await job.ended).code).toBe(0);
    const answers = linesOf(job.out()).filter(({ oneSided }) => oneSided !== undefined);
    expect(answers.length).toBe(4);
    expect(new Set(answers.map(({ oneSided, oneSidedNote }) => `${oneSided} ${oneSidedNote}`)).size).toBe(1);
  });

  it('trains as on one host', async () => {
    const job = skeinRun(...worker('case-worker.ts', 'nn-cases.js', 'nnCases'));
    const { code, err } = await job.ended;
    const lines = linesOf(job.out());
    expect(lines.filter(({ error }) => error !== '')).toEqual([]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(lines.length).toBe(4 * nnCases.length);
  });

  it('ends on both hosts when the cable is cut, and names the missing rank and its host', async () => {
    // Output of the far host no longer reaches the launcher, so every rank writes to a file.
    const errors = join(folder, 'stderr-');
    const scene = worker('mpi-worker.ts', 'killed-at-work', '{"peerTimeout":3}').map((word) => `"${word}"`);
    const quoted = scene.join(' ').replaceAll('"{"peerTimeout":3}"', '{\\"peerTimeout\\":3}');
    const job = skeinRun('sh', '-c', `exec ${quoted} 2>>${errors}$OMPI_COMM_WORLD_RANK`);
    await until(() => linesOf(job.out()).length === 4, 30);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(linesOf(job.out()).length).toBe(4);
    ip('-n', alpha.space, 'link', 'set', alpha.link, 'down');
    const cut = performance.now();
    const { code } = await job.ended;
    await until(() => hosts.every((host) => pidsOn(host).length === 0), 30);
    const seconds = (performance.now() - cut) / 1000;
    expect(code).not.toBe(0);
    expect(hosts.map((host) => pidsOn(host))).toEqual([[], []]);
    expect(seconds).toBeLessThan(30);
    for (let rank = 0; rank < 4; rank++) {
      const text = readFileSync(`${errors}${rank}`, 'utf8');
      const [missing, host] = rank < 2 ? ['[23]', 'beta'] : ['[01]', 'alpha'];
      const silent = `rank ${missing} \\(host ${host}, process \\d+\\) has been silent for \\d+\\.\\d s`;
      expect(text).toMatch(
        new RegExp(`skein: rank ${rank}: .*${silent}; waiting in (allReduce|getRows) \\(`),
      );
    }
  });
});
