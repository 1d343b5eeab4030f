/** `skein serve`: see ../serve.ts. */
import type { Command } from 'commander';
import { jsonOption, pluginOption, wholeNumber } from '../options/options.js';
import type { ServeCommand } from '../serve.js';

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

export function register(program: Command): void {
  const command = program
    .command('serve')
    .description('Answer questions about trained models over HTTP')
    .argument('<run...>', 'Directories of finished runs, or name=directory')
    .option(
      '--host <address>',
      'Address to listen on; 0.0.0.0 accepts other machines and needs a token',
      '127.0.0.1',
    )
    .option('--port <n>', 'Port to listen on; 0 takes any free port', wholeNumber, 8080)
    .option(
      '--token-file <file>',
      'File with the token that requests must bring; default: the variable SKEIN_TOKEN',
    )
    .option('--cors-origin <origin>', 'Origin whose web pages may ask; repeat for several', collect, [])
    .option(
      '--reload <seconds>',
      'Seconds between looks for a newer model of a run; 0: never',
      wholeNumber,
      5,
    );
  jsonOption(pluginOption(command))
    .addHelpText(
      'after',
      `
POST /rank       {"questions":[{"head":"ana","relation":"knows"}],"k":3}
POST /score      {"edges":[{"head":"ana","relation":"knows","tail":"carl"}]}
POST /neighbors  {"names":["ana"]}          POST /recommend  {"names":["ana"],"k":10}
POST /classify   {"names":["c4"]}           POST /events     {"events":[{"head":"u3","tail":"u7","time":1800000000}]}
GET  /models  /openapi.json  /health  /metrics; several runs: POST /models/{name}/rank …`,
    )
    .action(async (runs: string[], options: ServeCommand) =>
      (await import('../serve.js')).serveCommand(runs, options),
    );
}
