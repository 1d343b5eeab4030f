/** `skein eval`: see ../eval.ts. */
import type { Command } from 'commander';
import type { EvalCommand } from '../eval.js';
import { jsonOption, overrideOption, pluginOption } from '../options/options.js';

export function register(program: Command): void {
  const command = program
    .command('eval')
    .description('Evaluate a trained model on its test set, or on its validation set with --set validation')
    .argument(
      '<run|config>',
      'Directory of a run or a checkpoint, a packed model (.tgz), or the configuration it was trained with',
    )
    .option('--by-relation', 'Report the metrics of each relation too', false);
  overrideOption(jsonOption(pluginOption(command)), {
    flags: '--set <split|section.key=value>',
    text: 'Evaluate this split, validation or test (default: test), or override a configuration key (repeatable); keys are also written --evaluation.batch_size=500',
  }).action(async (path: string, options: EvalCommand) => {
    const { removingUnfinished } = await import('../stop-signals.js');
    const { evalCommand } = await import('../eval.js');
    await removingUnfinished(() => evalCommand(path, options));
  });
}
