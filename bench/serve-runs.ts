/** Runs of each kind for bench/serve.ts, of random data: what they answer does not matter, what it costs does. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fitEvents, fitLinks, fitNodes } from 'skein/predict';

export interface RunSizes {
  /** Entities of the links, and rows that a question is compared with. */
  readonly entities: number;
}

/** A number from 0 to `count` - 1 that looks random. */
const pick = (i: number, salt: number, count: number): number =>
  (Math.imul(Math.imul(i + 1, 0x9e3779b1) ^ Math.imul(salt, 0x85ebca6b), 0xc2b2ae35) >>> 0) % count;

/** Trains what is missing in `folder`, for one epoch each; returns the directories by kind. */
export async function makeRuns(
  folder: string,
  { entities }: RunSizes,
): Promise<Record<'links' | 'nodes' | 'events', string>> {
  const at = (kind: string): string => join(folder, `${kind}-${entities}`);
  const train = async (
    kind: string,
    fit: (directory: string) => Promise<{ close(): Promise<void> }>,
  ): Promise<void> => {
    if (existsSync(at(kind))) return;
    console.error(`training ${kind} …`);
    await (await fit(at(kind))).close();
  };
  await train('links', (directory) =>
    fitLinks(
      Array.from(
        { length: 2 * entities },
        (_, i) => [`e${i % entities}`, `r${i % 5}`, `e${pick(i, 1, entities)}`] as const,
      ),
      { directory, epochs: 1 },
    ),
  );
  const count = Math.min(entities, 10_000);
  await train('nodes', (directory) =>
    fitNodes(
      {
        nodes: Array.from({ length: count }, (_, i) => ({
          id: `e${i}`,
          age: pick(i, 2, 80),
          plan: `p${i % 4}`,
          segment: `s${i % 3}`,
        })),
        edges: Array.from(
          { length: 5 * count },
          (_, i) => [`e${i % count}`, `e${pick(i, 3, count)}`] as const,
        ),
      },
      { label: 'segment', directory, epochs: 1 },
    ),
  );
  await train('events', (directory) =>
    fitEvents(
      Array.from(
        { length: 5 * count },
        (_, i) => [`u${i % count}`, `i${i % 1000}`, 1_700_000_000 + i] as const,
      ),
      { directory, epochs: 1 },
    ),
  );
  return { links: at('links'), nodes: at('nodes'), events: at('events') };
}
