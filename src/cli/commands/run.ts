/** `skein run`: see ../run/run.ts. */
import type { Command } from 'commander';
import { positiveInteger } from '../options/options.js';
import type { RunCommand } from '../run/run.js';

export function register(program: Command): void {
  program
    .command('run')
    .description('Run a command on several workers with mpirun, mpiexec or srun')
    .argument('<command...>', 'Skein command (train …), or any other program after --')
    .option(
      '-n, --workers <n>',
      'Number of workers (default: as many as --hosts lists, else 1)',
      positiveInteger,
    )
    .option(
      '--hosts <list>',
      'Hosts and workers on each, as in a:2,b:2 (default: hosts of the scheduler, else this machine)',
    )
    .option(
      '--launcher <program>',
      'mpirun, mpiexec, srun or the path of one (default: the first that is installed)',
    )
    .option('--all-output', 'Print the output of all workers, each line prefixed by the rank', false)
    .passThroughOptions()
    .addHelpText(
      'after',
      `
skein run -n 4 train config.yaml          the same command on 4 workers
skein run -n 2 -- node program.js         any program that opens a communicator
skein run --hosts a:2,b:2 train …         2 workers on each of two machines
srun -n 4 skein run train config.yaml     under Slurm; or skein run -n 4 … in a batch script`,
    )
    .action(async (line: string[], options: RunCommand) => {
      const names = program.commands.map((command) => command.name());
      await (await import('../run/run.js')).runCommand(line, options, names);
    });
}
