/**
 * Runs a suite: every case on our side and on the peer's in fresh processes, in an order that alternates by round, and
 * takes medians over the rounds. A case whose sides do not agree on the result gets no ratio.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Options } from './arguments.js';
import type { ChildTask } from './child.js';
import { type Limits, rateOf, shareOf } from './limits.js';
import type { Measured } from './one-case.js';
import { type Peer, peerCommand } from './peer.js';
import { type Command, measureIn } from './processes.js';
import { disagreement, median } from './statistics.js';
import { type Case, checkedRuns, leastRepeatsVariable, type Suite, sharedFolderVariable } from './suite.js';

export interface Result {
  readonly bench: string;
  readonly ours_ms: number | null;
  readonly peer_ms: number | null;
  /** peer_ms / ours_ms: above 1 ours is faster. */
  readonly ratio: number | null;
  /** Fraction of the limit reached by the shortest repeat, since the limit is the best of many runs too. */
  readonly limit_share: number | null;
  /** Shortest repeats of all rounds: far below the medians if the machine was busy. */
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
  /** Reason why there is no ratio although both sides should have run. */
  readonly error: string | null;
}

const childFile = fileURLToPath(new URL('./child.ts', import.meta.url));

function ourCommand(task: ChildTask): Command {
  // The child needs the same TypeScript loader.
  const args = [...process.execArgv, childFile, JSON.stringify(task)];
  return { file: process.execPath, args, env: { SKEIN_THREADS: `${task.threads}` } };
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

/** Returns the peer's best configuration among those that ran. */
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
  const leastRepeats = entry.long === true ? 2 : 5;
  const folder = mkdtempSync(join(tmpdir(), 'skein-bench-'));
  try {
    const task = { suite: suite.name, name: entry.name, threads, warmUpMs: 200, leastRepeats, check: true };
    const ours = side('ours', ourCommand(task));
    const name = entry.peer;
    const peers =
      peer === null || name === null
        ? []
        : peer.configs.map((config) =>
            side(config.name, peerCommand(peer, config, suite.name, name, threads, checkedRuns)),
          );
    if (peers.length > 0) await entry.share?.(folder);
    const env = { [sharedFolderVariable]: folder, [leastRepeatsVariable]: `${leastRepeats}` };
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
