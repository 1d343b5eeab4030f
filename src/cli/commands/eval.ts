/** `skein eval`: see ../eval.ts. */
import type { Command } from 'commander';
import type { EvalCommand } from '../eval.js';
import { jsonOption, overrideOption, pluginOption } from '../options.js';

export function register(program: Command): void {
  const command = program
    .command('eval')
    .description('evaluate a trained model on its test set, or with --set validation on that')
    .argument(
      '<run|config>',
      'the directory of a run or a checkpoint, or the configuration it was trained with',
    )
    .option('--by-relation', 'metrics of every relation too', false);
  overrideOption(jsonOption(pluginOption(command))).action(async (path: string, options: EvalCommand) =>
    (await import('../eval.js')).evalCommand(path, options),
  );
}
