/** Routes that a page reads: runs with their curves, and views of their data and models. */
import { z } from '@hono/zod-openapi';
import type { ServerState } from '../app.js';
import { choice } from '../body-schemas.js';
import { asUnreadable, HttpError } from '../http-error.js';
import type { Route, ServerContext } from '../routes.js';
import { graphView } from './graph-view.js';
import { liveRun } from './live-run.js';
import type { CatalogRun } from './run-catalog.js';
import { readLog } from './run-summary.js';

const anything = z.looseObject({});

const whole = (low: number, high: number) => {
  const error = `a whole number from ${low} to ${high.toLocaleString('en')}`;
  return z.coerce.number({ error }).pipe(z.int({ error }).min(low, { error }).max(high, { error }));
};

const neighborhoodQuery = z.object({
  node: z.string({ error: 'the name of a node' }),
  hops: whole(1, 4).default(1),
  limit: whole(1, 500).default(60),
});

const truthQuery = z.object({ node: z.string({ error: 'the name of a node' }) });

const mapQuery = z.object({
  method: choice(['pca', 'umap']).default('pca'),
  limit: whole(10, 200_000).default(100_000),
});

/** The most points of each curve: a few for every pixel of a chart. */
const detailsQuery = z.object({ points: whole(10, 1_000_000).default(1000) });

/** `from`: bytes of metrics.jsonl that the page has, of an answer about the run. */
const liveQuery = z.object({ from: whole(0, Number.MAX_SAFE_INTEGER).default(0) });

const recentQuery = z.object({ limit: whole(1, 1000).default(20) });

const namesQuery = z.object({
  of: choice(['nodes', 'relations']).default('nodes'),
  text: z.string().max(200, { error: 'text of at most 200 characters' }).default(''),
  limit: whole(1, 100).default(12),
});

export function runRoutes(state: ServerState): Route[] {
  return [...recordRoutes(state), ...viewRoutes(state)];
}

function pageRoute(given: Omit<Route, 'method' | 'tag' | 'answer'> & Partial<Route>): Route {
  return { method: 'get', tag: 'runs', answer: anything, ...given };
}

/** Routes that read the files of a run. */
function recordRoutes(state: ServerState): Route[] {
  const { reader } = state;
  return [
    pageRoute({
      ...{ path: '/runs', summary: 'The runs, with their state and best results' },
      handle: async (context) =>
        context.json({
          roots: state.runs.roots,
          runs: await Promise.all(state.runs.list().map((run) => reader.summary(run))),
        }),
    }),
    pageRoute({
      ...{ path: '/runs/{name}', summary: 'One run with its configuration and curves' },
      query: detailsQuery,
      handle: async (context) => {
        const { points } = detailsQuery.parse(context.req.query());
        return context.json(await reader.details(runOf(state, context), points));
      },
    }),
    pageRoute({
      ...{ path: '/runs/{name}/log', summary: 'The end of the log of a run' },
      handle: (context) => context.json(readLog(runOf(state, context).path)),
    }),
    pageRoute({
      ...{ path: '/runs/{name}/live', summary: 'Records of a run as server-sent events', answer: null },
      query: liveQuery,
      handle: (context) => {
        const { from } = liveQuery.parse(context.req.query());
        return liveRun(runOf(state, context).path, from, state, context);
      },
    }),
  ];
}

/** Routes that open the model of a run. */
function viewRoutes(state: ServerState): Route[] {
  const view = <S extends z.ZodObject>(
    path: string,
    summary: string,
    query: S | null,
    read: View<S>,
  ): Route =>
    pageRoute({
      ...{ path: `/runs/{name}/${path}`, summary },
      ...(query === null ? {} : { query }),
      handle: async (context) => {
        // Runs of the list only, not every model that is served.
        runOf(state, context);
        const model = await state.model(context);
        context.set('model', model.name);
        const options = (query?.parse(context.req.query()) ?? {}) as z.output<S>;
        const { signal } = context.req.raw;
        const answer = await model
          .use(({ predictor }) => read(graphView(predictor), options, context))
          .catch((error: unknown) => {
            // A client that left while a map was laid out reads no answer; that is not a failure of the server.
            throw signal.aborted
              ? new HttpError(408, 'timeout', 'the client closed its connection.')
              : asUnreadable(error);
          });
        return context.json(answer as object);
      },
    });
  return [
    view(
      'names',
      'Names that begin with a text or contain it',
      namesQuery,
      async (graph, { of, text, limit }) => ({
        names: await graph.complete(of, text, limit),
      }),
    ),
    view('neighborhood', 'The edges around a node', neighborhoodQuery, (graph, { node, hops, limit }) =>
      graph.neighborhood(node, { hops, limit }),
    ),
    view('truth', 'The class of a node in the data', truthQuery, (graph, { node }) => graph.truth(node)),
    view('map', 'The rows of the nodes as points of the plane', mapQuery, (graph, options, { req }) =>
      graph.map({ ...options, signal: req.raw.signal }),
    ),
    view('recent', 'The latest events of a stream', recentQuery, async (graph, { limit }) => ({
      events: graph.recent(limit),
    })),
    view('data', 'Sizes, degrees and peculiarities of the data of a run', null, (graph) => graph.facts()),
  ];
}

type View<S extends z.ZodObject> = (
  graph: ReturnType<typeof graphView>,
  options: z.output<S>,
  context: ServerContext,
) => Promise<unknown>;

function runOf(state: ServerState, context: ServerContext): CatalogRun {
  const name = context.req.param('name') ?? '';
  const found = state.runs.find(name);
  if (found !== undefined) return found;
  throw new HttpError(
    404,
    'not_found',
    `expected the name of a run, got ${JSON.stringify(name.slice(0, 100))}. GET /runs lists them.`,
  );
}
