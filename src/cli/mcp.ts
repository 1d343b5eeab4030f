/** The work of `skein mcp`: serves runs as tools over standard input and output until the client closes them. */
import { modelSource, parseRunPaths, serveMcp } from '../server/index.js';
import type { PluginOptions } from './options/options.js';
import { untilStopSignal } from './stop-signals.js';
import { version } from './version.js';

export async function mcpCommand(
  given: readonly string[],
  { plugin: plugins }: PluginOptions,
): Promise<void> {
  // Standard output belongs to the protocol.
  const onWarning = (message: string): void => {
    process.stderr.write(`warning: ${message}\n`);
  };
  const onError = (error: unknown): void => onWarning(error instanceof Error ? error.message : String(error));
  const models = parseRunPaths('mcp', given).map((run) =>
    modelSource(run, { command: 'mcp', plugins, onWarning, onError }),
  );
  let server: Awaited<ReturnType<typeof serveMcp>> | null = null;
  const stop = (): boolean => {
    void server?.close();
    return server !== null;
  };
  await untilStopSignal(stop, async () => {
    server = await serveMcp({ models, version, onError });
    process.stdin.once('end', stop);
    await server.closed;
  });
}
