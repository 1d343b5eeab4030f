/**
 * Runs a suite: every case on our side and on the peer's in fresh processes, in an order that alternates by round, and
 * takes medians over the rounds. A case whose sides do not agree on the result gets no ratio.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Options } from './arguments.js';
import { type Limits, rateOf, shareOf } from './limits.js';
import type { Measured } from './one-case.js';
import { type Peer, peerCommand } from './peer.js';
import { disagreement, median } from './statistics.js';
import { type Case, checkedRuns, leastRepeatsVariable, type Suite, sharedFolderVariable } from './suite.js';

export interface Result {
  readonly bench: string;
  readonly ours_ms: number | null;
  readonly peer_ms: number | null;
  /** peer_ms / ours_ms: above 1 we are faster. */
  readonly ratio: number | null;
  /** Of the shortest repeat, since the limit is the best of many runs too. */
  readonly limit_share: number | null;
  /** Shortest repeats of all rounds: far below the medians when the machine was busy with something else. */
  readonly ours_best_ms: number | null;
  readonly peer_best_ms: number | null;
  /** Largest memory of a side's process, its data included, in MiB. */
  readonly ours_peak_mb: number | null;
  readonly peer_peak_mb: number | null;
  readonly rate: number | null;
  readonly unit: string;
  readonly limit: string;
  readonly threads: number;
  readonly ours_way: string | null;
  readonly peer_way: string | null;
  readonly peer_config: string | null;
  /** Why there is no ratio, when both sides were to run. */
  readonly error: string | null;
}

interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const mainFile = fileURLToPath(new URL('./main.ts', import.meta.url));

/** The arguments by which main.ts measures one case in its own process. */
export const oneCaseFlag = '--one-case';

function ourCommand(suite: string, name: string, threads: number): Command {
  // The loader that runs TypeScript here must run it there.
  const args = [...process.execArgv, mainFile, oneCaseFlag, suite, name, `${threads}`];
  return { file: process.execPath, args, env: { SKEIN_THREADS: `${threads}` } };
}

/** Runs a process that prints one line of JSON; its failure is the error's message. */
function measureIn({ file, args, env }: Command): Promise<Measured> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    const output: string[] = [];
    const errors: string[] = [];
    child.stdout.on('data', (data) => output.push(`${data}`));
    child.stderr.on('data', (data) => errors.push(`${data}`));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code !== 0) return reject(new Error(lastWords(errors.join('')) || `ended with ${code ?? signal}`));
      try {
        return resolve(JSON.parse(output.join('')) as Measured);
      } catch {
        return reject(new Error(`printed no result: ${output.join('').slice(0, 200)}`));
      }
    });
  });
}

/** The line of a stack trace that names the error: JavaScript has it first, Python last. */
function lastWords(text: string): string {
  const lines = text.trim().split('\n');
  return lines.findLast((line) => /^\w*(Error|Exception|Warning)\b/.test(line)) ?? lines[lines.length - 1];
}

interface Side {
  readonly name: string;
  readonly command: Command;
  readonly measured: Measured[];
  error: string | null;
}

function side(name: string, command: Command): Side {
  return { name, command, measured: [], error: null };
}

const shortest = (s: Side | null): number | null =>
  s === null || s.measured.length === 0 ? null : Math.min(...s.measured.map((m) => m.best));
const peak = (s: Side | null): number | null =>
  s === null || s.measured.length === 0 ? null : Math.max(...s.measured.map((m) => m.peak));
const timeOf = (s: Side): number => median(s.measured.map((m) => m.ms));

/** The peer's best configuration among those that ran. */
function best(sides: readonly Side[]): Side | null {
  const ran = sides.filter((s) => s.measured.length > 0 && s.error === null);
  return ran.length === 0 ? null : ran.reduce((a, b) => (timeOf(b) < timeOf(a) ? b : a));
}

function conclude(
  entry: Case,
  ours: Side,
  peers: readonly Side[],
  options: Options,
  limits: Limits | null,
): Result {
  const peer = best(peers);
  const oursMs = ours.error === null ? timeOf(ours) : null;
  const peerMs = peer === null ? null : timeOf(peer);
  const failed = [ours, ...peers].find((s) => s.error !== null && (s === ours || peer === null));
  let error = failed === undefined ? null : `${failed.name}: ${failed.error}`;
  if (error === null && peer !== null) {
    const different = disagreement(ours.measured[0].checks, peer.measured[0].checks, entry.tolerance ?? 1e-4);
    if (different !== null) error = `results differ: ${different}`;
  }
  const oursBest = ours.error === null ? shortest(ours) : null;
  const { rate, unit } = rateOf(entry, oursMs ?? Number.NaN);
  return {
    bench: entry.name,
    ours_ms: oursMs,
    peer_ms: peerMs,
    ratio: oursMs === null || peerMs === null || error !== null ? null : peerMs / oursMs,
    limit_share: limits === null || oursBest === null ? null : shareOf(entry, oursBest, limits),
    ours_best_ms: oursBest,
    peer_best_ms: shortest(peer),
    ours_peak_mb: peak(ours),
    peer_peak_mb: peak(peer),
    rate: oursMs === null ? null : rate,
    unit,
    limit: entry.limit,
    threads: options.threads,
    ours_way: ours.measured[0]?.way ?? null,
    peer_way: peer?.measured[0].way ?? null,
    peer_config: peer?.name ?? null,
    error,
  };
}

/** Measures one case over all rounds. */
export async function runCase(
  suite: Suite,
  entry: Case,
  peer: Peer | null,
  options: Options,
  limits: Limits | null,
): Promise<Result> {
  const threads = entry.threads ?? options.threads;
  const folder = mkdtempSync(join(tmpdir(), 'skein-bench-'));
  try {
    await entry.share?.(folder);
    const ours = side('ours', ourCommand(suite.name, entry.name, threads));
    const name = entry.peer;
    const peers =
      peer === null || name === null
        ? []
        : peer.configs.map((config) =>
            side(config.name, peerCommand(peer, config, suite.name, name, threads, checkedRuns)),
          );
    const env = {
      [sharedFolderVariable]: folder,
      ...(entry.long === true ? { [leastRepeatsVariable]: '2' } : {}),
    };
    const rounds = entry.long === true ? Math.min(options.rounds, 2) : options.rounds;
    for (let round = 0; round < rounds; round++) {
      const order = [ours, ...peers];
      for (const one of round % 2 === 0 ? order : order.reverse()) {
        if (one.error !== null) continue;
        try {
          one.measured.push(await measureIn({ ...one.command, env: { ...one.command.env, ...env } }));
        } catch (error) {
          one.error = (error as Error).message;
        }
      }
    }
    return conclude(entry, ours, peers, { ...options, threads }, limits);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
