/** `skein build`: see ../build.ts. */
import type { Command } from 'commander';
import type { BuildCommand } from '../build.js';
import { jsonOption } from '../options.js';

export function register(program: Command): void {
  const command = program
    .command('build')
    .description(
      'compile the native kernels for this machine, and the MPI addon where an MPI library is installed',
    )
    .option('--mpi', 'only the MPI addon, which skein run needs', false)
    .option('--all-levels', 'the kernels for every instruction set of this architecture', false);
  jsonOption(command).action(async (options: BuildCommand) =>
    (await import('../build.js')).buildCommand(options),
  );
}
