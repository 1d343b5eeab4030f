/**
 * `serveMcp`: trained models as tools of a language model, by the Model Context Protocol over standard input and output. Tools
 * have the names and schemas of the HTTP endpoints.
 */
import { z } from '@hono/zod-openapi';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { SkeinError, StateError } from '../util/errors.js';
import { nearest } from '../util/nearest.js';
import { runAll } from '../util/run-all.js';
import { checkBody } from './check-body.js';
import { fromPredictor } from './http-error.js';
import { resolveLimits } from './limits.js';
import { type Operation, operations } from './operations.js';
import { type ModelSource, ServedModel } from './served-model.js';

export interface McpOptions {
  readonly models: readonly ModelSource[];
  readonly version?: string;
  /** Default: standard input and output. */
  readonly transport?: Transport;
  readonly onError?: (error: unknown) => void;
}

/** Loads the SDK, which is an optional peer dependency. */
async function loadSdk() {
  try {
    const [{ Server }, { StdioServerTransport }, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/server/index.js'),
      import('@modelcontextprotocol/sdk/server/stdio.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
    return { Server, StdioServerTransport, ...types };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new StateError(
      'mcp: expected the package @modelcontextprotocol/sdk, got none. Install it: npm install @modelcontextprotocol/sdk',
    );
  }
}

/** Smaller than over HTTP: answers are read by a language model. */
const limits = resolveLimits({ maxEdges: 1000, maxQuestions: 100, maxK: 100, maxAnswers: 1000 });

/** Serves until the client closes the connection. */
export async function serveMcp(
  options: McpOptions,
): Promise<{ readonly closed: Promise<void>; close(): Promise<void> }> {
  const { Server, StdioServerTransport, ListToolsRequestSchema, CallToolRequestSchema } = await loadSdk();
  const models: ServedModel[] = [];
  let closing: Promise<void> | null = null;
  // Transports may report their end twice; both wait for the same close.
  const closeModels = (): Promise<void> => {
    closing ??= runAll(models.map((model) => () => model.close()));
    return closing;
  };
  try {
    for (const source of options.models)
      models.push(await ServedModel.open(source, { onError: options.onError }));
    const tools = makeTools(models);
    const server = new Server(
      { name: 'skein', version: options.version ?? '0' },
      { capabilities: { tools: {} }, instructions: instructions(models) },
    );
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: tools.map(({ operation, schema }) => ({
        name: operation.name,
        description: operation.summary,
        inputSchema: toJsonSchema(schema),
      })),
    }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) =>
      callTool(models, tools, params, signal, options.onError),
    );
    const closed = new Promise<void>((resolve, reject) => {
      server.onclose = () => closeModels().then(resolve, reject);
    });
    await server.connect(options.transport ?? new StdioServerTransport());
    return {
      closed,
      close: async () => {
        await server.close();
        await closed;
      },
    };
  } catch (error) {
    await closeModels();
    throw error;
  }
}

interface Tool {
  readonly operation: Operation;
  readonly schema: z.ZodObject;
}

/** Tools that at least one model answers. With several models the argument `model` chooses one. */
function makeTools(models: readonly ServedModel[]): Tool[] {
  return operations(limits).flatMap((operation) => {
    const able = models.filter(({ predictor }) => predictor.answers.includes(operation.name));
    if (able.length === 0 || operation.name === 'embed') return [];
    const names = able.map(({ name }) => name) as [string, ...string[]];
    const schema =
      models.length === 1
        ? operation.body
        : operation.body.safeExtend({
            model: z.enum(names, { error: `one of the models ${names.join(', ')}` }),
          });
    return [{ operation, schema }];
  });
}

function toJsonSchema(schema: z.ZodObject): { type: 'object' } & Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' });
  return { ...json, type: 'object' };
}

async function callTool(
  models: readonly ServedModel[],
  tools: readonly Tool[],
  {
    name,
    arguments: given = {},
  }: { readonly name: string; readonly arguments?: Record<string, unknown> | undefined },
  signal: AbortSignal,
  onError: McpOptions['onError'],
) {
  const text = (value: string, isError = false) => ({
    content: [{ type: 'text' as const, text: value }],
    isError,
  });
  const tool = tools.find(({ operation }) => operation.name === name);
  if (tool === undefined) {
    const names = tools.map(({ operation }) => operation.name);
    const near = nearest(name.slice(0, 100), names);
    const hint = near === undefined ? '' : ` Did you mean ${near}?`;
    return text(
      `expected one of the tools ${names.join(', ')}, got ${JSON.stringify(name.slice(0, 100))}.${hint}`,
      true,
    );
  }
  try {
    const { model: chosen, ...body } = await checkBody(tool.schema, given);
    const model =
      models.length === 1 ? models[0] : (models.find((one) => one.name === chosen) as ServedModel);
    const answer = await model.use((session) => tool.operation.run(session, body as never), signal);
    return { ...text(JSON.stringify(answer)), structuredContent: answer as Record<string, unknown> };
  } catch (error) {
    const known = fromPredictor(error);
    if (known === undefined) onError?.(error);
    return text(known?.message ?? (error instanceof SkeinError ? error.message : 'internal error'), true);
  }
}

function instructions(models: readonly ServedModel[]): string {
  const lines = models.map(
    ({ name, predictor }) =>
      `${name}: a model of ${predictor.kind}, answers ${predictor.answers.join(', ')}.`,
  );
  return [
    'Trained graph models. Names in questions are those of the training data; errors suggest similar names.',
    ...lines,
  ].join('\n');
}
