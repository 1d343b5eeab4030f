/** `skein serve`: see ../serve.ts. */
import { type Command, Option } from 'commander';
import { jsonOption, pluginOption, wholeNumber } from '../options.js';
import type { ServeCommand } from '../serve.js';

export function register(program: Command): void {
  const command = program
    .command('serve')
    .description('answer over HTTP with a trained model: take events in, score links now')
    .addOption(
      new Option('--temporal <run>', 'the directory of a finished temporal run').makeOptionMandatory(),
    )
    .option('--host <address>', 'address to listen on; others than this machine only when named', '127.0.0.1')
    .option('--port <n>', 'port; 0: any free one', wholeNumber, 8080);
  jsonOption(pluginOption(command))
    .addHelpText(
      'after',
      `
POST /events     {"src":[1],"dst":[8228],"time":[2678373.5]}   events in order of time
POST /score      {"src":1,"dst":[8228,8229],"time":2678400}     time: by default now
POST /recommend  {"src":1,"k":10}                               the likeliest destinations
GET  /status     events, events that memory does not know yet, latency percentiles`,
    )
    .action(async (options: ServeCommand) => (await import('../serve.js')).serveCommand(options));
}
