/** `skein doctor`: see ../doctor/doctor.ts. */
import type { Command } from 'commander';
import { type JsonOptions, jsonOption } from '../options.js';

export function register(program: Command): void {
  const command = program
    .command('doctor')
    .description('look at what Skein needs and can use on this machine, and say how to mend what is missing');
  jsonOption(command).action(async (options: JsonOptions) =>
    (await import('../doctor/doctor.js')).doctorCommand(options),
  );
}
