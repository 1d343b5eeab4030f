/** `skein serve`: see ../serve.ts. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { jsonOption, pluginOption, wholeNumber } from '../options/options.js';
import type { ServeCommand } from '../serve.js';

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

function positiveNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new InvalidArgumentError('Expected a number of at least 0.');
  return value;
}

function newNodesRule(text: string): 'allow' | 'refuse' | { readonly limit: number } {
  return text === 'allow' || text === 'refuse' ? text : { limit: wholeNumber(text) };
}

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
  command
    .option('--state <folder>', 'Keep events of streams in a log on disk, which survives the process')
    .option(
      '--lateness <time>',
      'Wait so long for earlier events, in the time of the stream (default: 0)',
      positiveNumber,
    )
    .addOption(
      new Option('--late <rule>', 'Drop later ones, write them to a side file, or apply them now').choices([
        'drop',
        'side',
        'apply',
      ]),
    )
    .option(
      '--max-future <time>',
      'Set events apart that are further ahead of the clock (default: an hour)',
      positiveNumber,
    )
    .option('--new-nodes <rule>', 'allow, refuse, or how many new names events may bring', newNodesRule)
    .option(
      '--source <source>',
      'Take events from a file of JSON lines that grows, from - (standard input), or from nats://host:port/STREAM',
    )
    .option('--source-fields <pairs>', 'Fields of its messages, such as head=user,tail=page,time=at');
  jsonOption(pluginOption(command))
    .addHelpText(
      'after',
      `
POST /rank       {"questions":[{"head":"ana","relation":"knows"}],"k":3}
POST /score      {"edges":[{"head":"ana","relation":"knows","tail":"carl"}]}
POST /neighbors  {"names":["ana"]}          POST /recommend  {"names":["ana"],"k":10}
POST /classify   {"names":["c4"]}           POST /events     {"events":[{"head":"u3","tail":"u7","time":1800000000}]}
GET  /status  /quarantine (streams)  /models  /openapi.json  /health  /metrics; several runs: POST /models/{name}/rank …`,
    )
    .action(async (runs: string[], options: ServeCommand) =>
      (await import('../serve.js')).serveCommand(runs, options),
    );
}
