/** Routes that ask models: `POST /score` and the others, and the same below `/models/{name}`. */
import { z } from '@hono/zod-openapi';
import type { ServerState } from './app.js';
import { choice } from './body-schemas.js';
import { checkBody } from './check-body.js';
import { HttpError, invalid } from './http-error.js';
import { type Operation, operations } from './operations.js';
import { readJson } from './read-json.js';
import type { Route, ServerContext } from './routes.js';
import type { ServedModel } from './served-model.js';

const streamQuery = z.object({
  fresh: choice(['true', 'false'])
    .optional()
    .openapi({ description: 'Wait until all appended events are applied' }),
  read: choice(['watermark', 'latest'])
    .optional()
    .openapi({ description: 'latest: also see events that wait for the watermark' }),
});

export function modelRoutes(state: ServerState): Route[] {
  return operations(state.limits).flatMap((operation) => {
    const { name, summary, body, answer, example } = operation;
    const handle = (context: ServerContext): Promise<Response> =>
      answerBody(state, context, body, (model, checked, signal) =>
        runOperation(context, model, operation, checked, signal),
      );
    // Only routes that some model answers are described; all of them explain why not.
    const isAnswered = state.models.some(({ predictor }) => predictor.answers.includes(name));
    const shared = {
      ...({ method: 'post', summary, body, answer, example, handle, tag: 'questions' } as const),
      ...queryOf(state),
    };
    return [
      { ...shared, path: `/${name}`, isHidden: !isAnswered || state.models.length > 1 },
      { ...shared, path: `/models/{name}/${name}`, isHidden: !isAnswered },
    ];
  });
}

/** The query parameters of questions: those of streams, if a model has one. */
export const queryOf = ({ models }: ServerState): Pick<Route, 'query'> =>
  models.some(({ stream }) => stream !== null) ? { query: streamQuery } : {};

/** Asks a model; `body` has been checked by the schema of the operation. */
export async function runOperation(
  context: ServerContext,
  model: ServedModel,
  { name, run }: Operation,
  body: object,
  signal: AbortSignal,
): Promise<unknown> {
  model.checkAbility(name);
  const { stream } = model;
  const [parameter] = Object.keys(context.req.query());
  if (stream === null && parameter !== undefined)
    throw invalid(
      `?${parameter}`,
      'a model of events',
      `${model.name}, which is one of ${model.predictor.kind}`,
    );
  if (context.req.query('fresh') === 'true') await stream?.settleAll();
  const read = context.req.query('read');
  const asked = read === undefined ? body : { ...body, read };
  const answer = await model.use((session) => run(session, asked as never), signal);
  if (stream !== null) context.header('skein-stream-version', String(stream.version));
  return answer;
}

/** Reads and checks the body of a request, and answers it within the time that requests have. */
export async function answerBody<S extends z.ZodObject>(
  state: ServerState,
  context: ServerContext,
  schema: S,
  answer: (model: ServedModel, body: z.output<S>, signal: AbortSignal) => Promise<unknown>,
): Promise<Response> {
  const model = await state.model(context);
  context.set('model', model.name);
  const read = await readJson(context.req.raw, state.limits, state.budget);
  const ending = new RequestEnd(context, state.limits.answerTimeout);
  try {
    const body = await checkBody(schema, read.value);
    return context.json((await ending.race(answer(model, body, ending.signal))) as object);
  } finally {
    ending.clear();
    read.release();
  }
}

/** Ends a request that takes too long, or whose client is gone. */
class RequestEnd {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #outgoing: ServerContext['env']['outgoing'];
  readonly #leave = (): void =>
    this.#controller.abort(new HttpError(499, 'timeout', 'the client closed the connection.'));

  constructor({ env }: ServerContext, milliseconds: number) {
    this.#outgoing = env?.outgoing;
    this.#outgoing?.once('close', this.#leave);
    this.#timer = setTimeout(
      () =>
        this.#controller.abort(
          new HttpError(
            503,
            'timeout',
            `expected an answer within ${milliseconds / 1000} s, got none. Ask for less, or later.`,
            {
              headers: { 'retry-after': '5' },
            },
          ),
        ),
      milliseconds,
    );
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Returns the result of `work`, or throws when the request ends before. */
  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.signal.addEventListener('abort', () => reject(this.signal.reason), { once: true });
      work.then(resolve, reject);
    });
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#outgoing?.off('close', this.#leave);
  }
}
