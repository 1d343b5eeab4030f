/** What the examples share: their two options, and progress for people or as one JSON object a line. */
import { parseArgs } from 'node:util';
import type { EpochRecord, NodeClassifierResult } from 'skein';

export interface ExampleRun {
  readonly seed: number;
  onEpoch(record: EpochRecord): void;
  done(result: NodeClassifierResult): void;
}

/** Reads `--seed` and `--json`; prints every `every` epochs and at the end. */
export function startExample(every = 20): ExampleRun {
  const { values } = parseArgs({
    options: { seed: { type: 'string', default: '0' }, json: { type: 'boolean', default: false } },
  });
  const seed = Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0) {
    console.error(`example: expected a whole number of at least 0 for --seed, got "${values.seed}".`);
    process.exit(2);
  }
  return {
    seed,
    onEpoch({ epoch, loss, validAccuracy }) {
      if (epoch % every !== 0) return;
      if (values.json)
        console.log(JSON.stringify({ event: 'epoch', epoch, loss, valid_accuracy: validAccuracy }));
      else
        console.log(
          `epoch ${epoch}: loss ${loss.toFixed(4)}, validation ${(100 * validAccuracy).toFixed(1)} %`,
        );
    },
    done({ test, bestEpoch, epochs, seconds }) {
      const summary = {
        event: 'done',
        test_accuracy: test.accuracy,
        test_macro_f1: test.macroF1,
        best_epoch: bestEpoch,
        epochs,
        seconds: Number(seconds.toFixed(3)),
        seed,
      };
      if (values.json) console.log(JSON.stringify(summary));
      else
        console.log(
          `test accuracy ${(100 * test.accuracy).toFixed(1)} % (best of ${epochs} epochs: ${bestEpoch}, ${seconds.toFixed(1)} s)`,
        );
    },
  };
}
