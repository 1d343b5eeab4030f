/** `skein run`: see ../run.ts. */
import type { Command } from 'commander';
import { positiveInteger } from '../options.js';
import type { RunCommand } from '../run.js';

export function register(program: Command): void {
  program
    .command('run')
    .description('run a command on several workers, with mpirun, mpiexec or srun')
    .argument('<command...>', "a command of Skein's (train …), or any other program after --")
    .option(
      '-n, --workers <n>',
      'number of workers; default: as many as --hosts names, else 1',
      positiveInteger,
    )
    .option(
      '--hosts <list>',
      'machines and workers on each: a:2,b:2; default: what a scheduler gives, else this one',
    )
    .option(
      '--launcher <program>',
      'mpirun, mpiexec, srun or the path of one; default: the first that is there',
    )
    .option('--all-output', 'print the output of all workers, each line with its number', false)
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
      await (await import('../run.js')).runCommand(line, options, names);
    });
}
