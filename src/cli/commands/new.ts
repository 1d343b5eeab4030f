/** `skein new`: see ../new/new.ts. */
import type { Command } from 'commander';
import type { NewCommand } from '../new/new.js';
import { jsonOption } from '../options/options.js';

export function register(program: Command): void {
  const command = program
    .command('new')
    .description('Create a small TypeScript project: facts as CSV, a model that is trained and asked, a test')
    .argument('<directory>', 'Folder to create');
  jsonOption(command).action(async (directory: string, options: NewCommand) =>
    (await import('../new/new.js')).newCommand(directory, options),
  );
}
