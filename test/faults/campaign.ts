/**
 * What a campaign of faults is: a list of tries, each of which does one bad thing to Skein and judges what came of it. A try
 * has a name, and all that is drawn in it comes from (seed, name), so that it can be repeated alone:
 * `npm run test:faults -- --seed=N --only=NAME`.
 */
import { crc32 } from 'node:zlib';
import { Random } from 'skein/util';

/** How a try may end well: nothing was lost or changed, or an error said what is wrong. */
const good = ['survived', 'refused'] as const;
/**
 * And how not: a wrong result was taken for a right one; a process died; nothing happened any more; an error that does not
 * name its cause; files or processes that stay for good.
 */
const bad = ['silent', 'crash', 'hang', 'unnamed', 'leftover'] as const;
export type Ending = (typeof good)[number] | (typeof bad)[number];

export interface Verdict {
  readonly ending: Ending;
  /** For a failure: what was seen, and what should have been. */
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
  /** More of everything. */
  readonly long: boolean;
}

export interface Campaign {
  readonly name: string;
  readonly about: string;
  /** Why it cannot run on this machine; null when it can. */
  missing(): string | null;
  /** Makes what all tries need, then the list of tries. Nothing in it may depend on the seed. */
  tries(setup: Setup): Promise<Try[]>;
}

/** The random numbers of one try. */
function randomFor(seed: number, name: string): Random {
  return new Random(seed).split(crc32(name));
}

/** A failure thrown from anywhere in a try. */
export class Fault extends Error {
  readonly ending: Ending;

  constructor(ending: Ending, detail: string) {
    super(detail);
    this.ending = ending;
  }
}

/** Runs one try; what it throws is its verdict. */
export async function judge({ name, run }: Try, seed: number): Promise<Verdict> {
  try {
    return await run(randomFor(seed, name));
  } catch (error) {
    if (error instanceof Fault) return { ending: error.ending, detail: error.message };
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { ending: 'crash', detail: `the try itself failed: ${text}` };
  }
}
