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
    .argument('<run...>', 'Finished runs: their directories or packed models (.tgz), or name=path')
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
    .option('--base-path <path>', 'Path below which a proxy shows the server, such as /skein', '')
    .option('--cors-origin <origin>', 'Origin whose web pages may ask; repeat for several', collect, [])
    .option(
      '--reload <seconds>',
      'Check each run for a newer model every so many seconds; 0: never',
      wholeNumber,
      5,
    );
  command
    .option('--state <folder>', 'Keep events of streams in a log on disk, which survives the process')
    .option(
      '--lateness <time>',
      'How late events may arrive, in the unit of their times (seconds, if times are seconds): events wait this long to be put in order (default: 0)',
      positiveNumber,
    )
    .addOption(
      new Option(
        '--late <rule>',
        'Events that come later than that: drop, side (write them to late.jsonl as well), or apply (at the present time of the stream) (default: drop)',
      ).choices(['drop', 'side', 'apply']),
    )
    .option(
      '--max-future <time>',
      'Quarantine events whose time is further than this ahead of the clock, in the unit of their times (default: one hour)',
      positiveNumber,
    )
    .option(
      '--new-nodes <rule>',
      'Names that training did not have: allow, refuse, or a number of them to allow (default: allow; refuse for models that cannot grow)',
      newNodesRule,
    )
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
POST /classify   {"names":["c4"]}           POST /embed      {"names":["ana"]}
GET  /models  /openapi.json  /health  /metrics; several runs: POST /models/{name}/rank …
Streams:         POST /events  {"events":[{"head":"u3","tail":"u7","time":1800000000}]}
                 POST /nodes   {"nodes":[{"name":"u9"}]}   GET /status   GET /quarantine, POST /quarantine/release, /quarantine/delete
Open Inference Protocol: GET /v2, /v2/health/ready, /v2/models/{name}, POST /v2/models/{name}/infer`,
    )
    .action(async (runs: string[], options: ServeCommand) =>
      (await import('../serve.js')).serveCommand(runs, options),
    );
}
