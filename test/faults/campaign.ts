/**
 * A fault campaign is a list of tries, each of which injects one fault into Skein and evaluates the outcome. A try
 * has a name, and all that is drawn in it comes from (seed, name), so that it can be repeated alone:
 * `npm run test:faults -- --seed=N --only=NAME`.
 */
import { crc32 } from 'node:zlib';
import { Random } from 'skein/util';

/** The good outcomes of a try: nothing was lost or changed, or an error named the cause. */
const good = ['survived', 'refused'] as const;
/**
 * The bad outcomes: a wrong result was accepted; a process crashed; a process hung; an error did not name its cause;
 * files or processes were left behind.
 */
const bad = ['silent', 'crash', 'hang', 'unnamed', 'leftover'] as const;
export type Ending = (typeof good)[number] | (typeof bad)[number];

export interface Verdict {
  readonly ending: Ending;
  /** For a failure: what was observed, and what was expected. */
  readonly detail?: string;
}

export function isFailure({ ending }: Verdict): boolean {
  return (bad as readonly string[]).includes(ending);
}

export const survived: Verdict = { ending: 'survived' };
export const refused: Verdict = { ending: 'refused' };

export interface Try {
  /** Unique, and the same in every run of the campaign: `damage/run links-memory/flip 3 last/model.safetensors`. */
  readonly name: string;
  run(random: Random): Promise<Verdict>;
}

export interface Setup {
  /** An empty folder for the campaign; removed at its end. */
  readonly folder: string;
  /** More tries of everything. */
  readonly long: boolean;
}

export interface Campaign {
  readonly name: string;
  readonly about: string;
  /** The reason why it cannot run on this machine; null if it can. */
  missing(): string | null;
  /** Creates what all tries need, then the list of tries. It must not depend on the seed. */
  tries(setup: Setup): Promise<Try[]>;
}

/** The random numbers of one try. */
function randomFor(seed: number, name: string): Random {
  return new Random(seed).split(crc32(name));
}

/** A failure thrown inside a try. */
export class Fault extends Error {
  readonly ending: Ending;

  constructor(ending: Ending, detail: string) {
    super(detail);
    this.ending = ending;
  }
}

/** Runs one try; the error that it throws is its verdict. */
export async function evaluateTry({ name, run }: Try, seed: number): Promise<Verdict> {
  try {
    return await run(randomFor(seed, name));
  } catch (error) {
    if (error instanceof Fault) return { ending: error.ending, detail: error.message };
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { ending: 'crash', detail: `the try itself failed: ${text}` };
  }
}
