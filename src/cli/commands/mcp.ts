/** `skein mcp`: see ../mcp.ts. */
import type { Command } from 'commander';
import { type PluginOptions, pluginOption } from '../options/options.js';

export function register(program: Command): void {
  const command = program
    .command('mcp')
    .description('Offer trained models as tools to language models (Model Context Protocol)')
    .argument('<run...>', 'Finished runs: their directories or packed models (.tgz), or name=path');
  pluginOption(command)
    .addHelpText(
      'after',
      `
The client starts the command and speaks over its standard input and output, for example:
{"mcpServers":{"skein":{"command":"npx","args":["skein","mcp","runs/first"]}}}`,
    )
    .action(async (runs: string[], options: PluginOptions) =>
      (await import('../mcp.js')).mcpCommand(runs, options),
    );
}
