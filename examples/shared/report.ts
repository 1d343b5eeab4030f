/** Common code of the examples: their two options, and progress as text or as one JSON object per line. */
import { parseArgs } from 'node:util';
import type { EpochRecord, NodeClassifierResult } from 'skein';

export interface ExampleRun {
  readonly seed: number;
  onEpoch(record: EpochRecord): void;
  done(result: NodeClassifierResult): void;
  /** Prints the last line of an example with custom results: as text, or all of them as JSON. */
  finish<Results extends object>(results: Results, text: (results: Results) => string): void;
}

const usage = 'usage: npm run example -- <name> [--seed <whole number>] [--json]';

function fail(message: string): never {
  console.error(`example: ${message}\n${usage}`);
  process.exit(2);
}

function readArguments(): { seed: number; json: boolean } {
  try {
    const { values } = parseArgs({
      options: {
        seed: { type: 'string', default: '0' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) {
      console.log(usage);
      process.exit(0);
    }
    if (!/^\d{1,15}$/.test(values.seed))
      fail(`expected a whole number of at least 0 for --seed, got "${values.seed}".`);
    return { seed: Number(values.seed), json: values.json };
  } catch (error) {
    return fail((error as Error).message);
  }
}

/** Returns '' if there are no validation nodes. */
const validation = (accuracy: number): string =>
  Number.isNaN(accuracy) ? '' : `, validation ${(100 * accuracy).toFixed(1)} %`;

/** Reads `--seed` and `--json`; prints every `every` epochs and at the end. */
export function startExample(every = 20): ExampleRun {
  const { seed, json } = readArguments();
  return {
    seed,
    onEpoch({ epoch, loss, validAccuracy }) {
      if (epoch % every !== 0) return;
      if (json) console.log(JSON.stringify({ event: 'epoch', epoch, loss, valid_accuracy: validAccuracy }));
      else console.log(`epoch ${epoch}: loss ${loss.toFixed(4)}${validation(validAccuracy)}`);
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
      if (json) console.log(JSON.stringify(summary));
      else
        console.log(
          `test accuracy ${(100 * test.accuracy).toFixed(1)} % (best of ${epochs} epochs: ${bestEpoch}, ${seconds.toFixed(1)} s)`,
        );
    },
    finish(results, text) {
      console.log(json ? JSON.stringify({ event: 'done', ...results, seed }) : text(results));
    },
  };
}
