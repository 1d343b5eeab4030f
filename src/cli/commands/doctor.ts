/** `skein doctor`: see ../doctor/doctor.ts. */
import type { Command } from 'commander';
import { type JsonOptions, jsonOption } from '../options/options.js';

export function register(program: Command): void {
  const command = program
    .command('doctor')
    .description('Check what Skein needs and can use on this machine, and show how to fix what is missing');
  jsonOption(command).action(async (options: JsonOptions) =>
    (await import('../doctor/doctor.js')).doctorCommand(options),
  );
}
