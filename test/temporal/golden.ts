/** Values that PyTorch computed for temporal parts (test/golden/temporal-*.json, written by scripts/golden/temporal_updaters.py). */
import { readFileSync } from 'node:fs';
import type { FloatDType, Tensor } from 'skein/tensor';
import type { MailBoxRows } from '#internal/temporal/mailbox/rows.js';
import { type Cases, pattern, type Recorded } from '../nn/golden.js';

export function temporalGolden(name: string): Cases<Recorded> {
  const file = new URL(`../golden/temporal-${name}.json`, import.meta.url);
  const { format, version, cases } = JSON.parse(readFileSync(file, 'utf8'));
  if (format !== 'skein-temporal-models-golden' || version !== 1) {
    throw new Error(
      `test/golden/temporal-${name}.json has version ${version}, this test needs 1. Run: python3 scripts/golden/temporal_updaters.py`,
    );
  }
  return cases;
}

/** Sizes of the golden cases: nodes, memory, edge features, time encoding. */
export const sizes = { n: 6, D: 4, E: 3, T: 5 } as const;
const base = 1.6e9;

/** State of six nodes at times near 1.6e9, as in the script; `counts` says how many slots of each are filled. */
export function goldenRows(slots: number, counts: readonly number[], dtype: FloatDType): MailBoxRows {
  const { n, D } = sizes;
  const nodes = Int32Array.from({ length: n }, (_, i) => i);
  const slotTimes = Array.from({ length: n * slots }, (_, p) => {
    return base + 4 + 1.25 * Math.floor(p / slots) + 0.75 * (p % slots);
  });
  return {
    nodes,
    memory: pattern([n, D], 3, dtype),
    memoryTime: Float64Array.from(nodes, (i) => base + 0.5 * i),
    mail: pattern([n, slots * 2 * D], 1, dtype),
    mailEvents: Int32Array.from({ length: n * slots }, (_, p) =>
      p % slots < counts[Math.floor(p / slots)] ? p : -1,
    ),
    mailTime: Float64Array.from(slotTimes),
    mailCount: Int32Array.from(counts),
  };
}

export function goldenFeatures(slots: number, dtype: FloatDType): Tensor {
  return pattern([sizes.n * slots, sizes.E], 2, dtype);
}

/** When the golden transformer of TGL's rule is asked. */
export const queryTimes = Float64Array.from({ length: sizes.n }, (_, i) => base + 20 + 0.25 * i);
