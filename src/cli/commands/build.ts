/** `skein build`: see ../build.ts. */
import type { Command } from 'commander';
import type { BuildCommand } from '../build.js';
import { jsonOption } from '../options/options.js';

export function register(program: Command): void {
  const command = program
    .command('build')
    .description(
      'Compile the native kernels for this machine, and the MPI addon if an MPI library is installed',
    )
    .option('--mpi', 'Compile only the MPI addon, which skein run needs', false)
    .option('--all-levels', 'Compile the kernels for every instruction set of this architecture', false);
  jsonOption(command).action(async (options: BuildCommand) =>
    (await import('../build.js')).buildCommand(options),
  );
}
