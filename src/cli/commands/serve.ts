/** `skein serve`: see ../serve.ts. */
import { type Command, Option } from 'commander';
import { jsonOption, pluginOption, wholeNumber } from '../options/options.js';
import type { ServeCommand } from '../serve.js';

export function register(program: Command): void {
  const command = program
    .command('serve')
    .description('Serve a temporal model over HTTP: append events, score links')
    .addOption(new Option('--temporal <run>', 'Directory of a finished temporal run').makeOptionMandatory())
    .option('--host <address>', 'Address to listen on; 0.0.0.0 accepts other machines', '127.0.0.1')
    .option('--port <n>', 'Port to listen on; 0 takes any free port', wholeNumber, 8080);
  jsonOption(pluginOption(command))
    .addHelpText(
      'after',
      `
POST /events     {"src":[1],"dst":[8228],"time":[2678373.5]}   append events in order of time
POST /score      {"src":1,"dst":[8228,8229],"time":2678400}     score links (default time: now)
POST /recommend  {"src":1,"k":10}                               rank destinations
GET  /status     number of events, events not yet in memory, latency percentiles`,
    )
    .action(async (options: ServeCommand) => (await import('../serve.js')).serveCommand(options));
}
