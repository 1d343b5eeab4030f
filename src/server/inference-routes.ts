/** The Open Inference Protocol (KServe V2) as another form of the routes of models: health, metadata and `infer`. */
import { z } from '@hono/zod-openapi';
import type { ServerState } from './app.js';
import { list, object } from './body-schemas.js';
import { checkBody } from './check-body.js';
import { invalid } from './http-error.js';
import { bodyOf, mappings, operationOf, type Tensor, type TensorOperation } from './inference-tensors.js';
import { checkReady, findModel } from './info-routes.js';
import { answerBody, queryOf, runOperation } from './model-routes.js';
import { type Operation, operations } from './operations.js';
import type { Route, ServerContext } from './routes.js';
import type { ServedModel } from './served-model.js';

const tag = 'open inference protocol';
const word = z.string({ error: 'text' }).max(1000, { error: 'text of at most 1000 characters' });
const scalars = z.record(
  word,
  z.union([word, z.number(), z.boolean()], { error: 'text, a number, true or false' }),
  {
    error: 'an object',
  },
);
// The entries of data are checked as rows of the plain body, in slices.
const values = z
  .custom<unknown[]>(Array.isArray, { error: 'a list' })
  .openapi({ type: 'array', items: { type: ['string', 'number', 'array'] } });
const length = z.int({ error: 'a length' }).min(0, { error: 'a length' });

const input = object({
  name: word,
  shape: list(length, 'lengths', 8),
  datatype: word,
  data: values,
  parameters: scalars.optional(),
}).openapi('InferenceInput');

const request = object({
  id: word.optional(),
  inputs: list(input, 'tensors', 8),
  parameters: scalars
    .optional()
    .openapi({ description: 'operation, and the other keys of its body such as k' }),
  outputs: list(object({ name: word, parameters: scalars.optional() }), 'names of tensors', 8).optional(),
});

const form = z.object({ name: z.string(), datatype: z.string(), shape: z.array(z.int()) });
const response = z
  .object({
    model_name: z.string(),
    model_version: z.string(),
    id: z.string().optional(),
    outputs: z.array(form.extend({ data: z.array(z.union([z.string(), z.number()])) })),
  })
  .openapi('InferenceResponse');
const metadata = z
  .object({
    name: z.string(),
    versions: z.array(z.string()),
    platform: z.string(),
    inputs: z.array(form),
    outputs: z.array(form),
    parameters: z.object({ operations: z.string() }),
  })
  .openapi('InferenceMetadata', { description: 'Inputs and outputs of the first operation' });

/** Parameters of clients that have no meaning here: answers are always JSON. */
const ignored: ReadonlySet<string> = new Set(['operation', 'binary_data_output']);

const example = {
  inputs: [
    { name: 'head', shape: [1], datatype: 'BYTES', data: ['ana'] },
    { name: 'relation', shape: [1], datatype: 'BYTES', data: ['knows'] },
    { name: 'tail', shape: [1], datatype: 'BYTES', data: ['carl'] },
  ],
};

export function inferenceRoutes(state: ServerState): Route[] {
  const all = operations(state.limits);
  const model = (context: ServerContext): ServedModel => {
    const found = findModel(state, context.req.param('name'));
    context.set('model', found.name);
    return found;
  };
  const get = (path: string, summary: string, answer: z.ZodType, handle: Route['handle']): Route => ({
    ...{ method: 'get', path, summary, tag, answer, handle },
  });
  return [
    get('/v2/health/live', 'Whether the process runs', z.object({ live: z.boolean() }), (context) =>
      context.json({ live: true }),
    ),
    get('/v2/health/ready', 'Whether the models are open', z.object({ ready: z.boolean() }), (context) => {
      checkReady(state, state.models);
      return context.json({ ready: true });
    }),
    get(
      ...(['/v2', 'The server'] as const),
      z.object({ name: z.string(), version: z.string(), extensions: z.array(z.string()) }),
      (context) => context.json({ name: 'skein', version: state.version, extensions: [] }),
    ),
    get('/v2/models/{name}', 'Inputs and outputs of a model', metadata, (context) =>
      context.json(metadataOf(model(context))),
    ),
    get(
      ...(['/v2/models/{name}/ready', 'Whether a model is open'] as const),
      z.object({ name: z.string(), ready: z.boolean() }),
      (context) => {
        const found = model(context);
        checkReady(state, [found]);
        return context.json({ name: found.name, ready: true });
      },
    ),
    {
      ...{ method: 'post', path: '/v2/models/{name}/infer', summary: 'Ask a model by tensors', tag },
      ...{ body: request, answer: response, example, ...queryOf(state) },
      handle: (context) =>
        answerBody(state, context, request, (found, body, signal) =>
          infer(all, context, found, body, signal),
        ),
    },
  ];
}

/** Describes the operation that a request without the parameter `operation` gets first. */
function metadataOf({ name, description: { version, answers } }: ServedModel): z.output<typeof metadata> {
  const known = (Object.keys(mappings) as TensorOperation[]).filter((one) => answers.includes(one));
  const first = known.find((one) => one === 'score' || one === 'classify') ?? known[0];
  const { inputs, outputs } = mappings[first];
  return {
    ...{ name, versions: [String(version)], platform: 'skein' },
    ...{ inputs: [...inputs] as never, outputs: [...outputs] as never },
    parameters: { operations: known.join(', ') },
  };
}

async function infer(
  all: readonly Operation[],
  context: ServerContext,
  model: ServedModel,
  { id, inputs, parameters = {}, outputs }: z.output<typeof request>,
  signal: AbortSignal,
): Promise<z.output<typeof response>> {
  const { answers, version } = model.description;
  const names = inputs.map((tensor) => tensor.name);
  const name = operationOf(names, parameters['operation'], answers);
  const operation = all.find((one) => one.name === name) as Operation;
  const others = Object.fromEntries(Object.entries(parameters).filter(([key]) => !ignored.has(key)));
  const body = await checkBody(operation.body, bodyOf(name, inputs, others));
  const wanted = outputs?.map((output) => output.name);
  const forms = mappings[name].outputs.map((output) => output.name);
  for (const [i, output] of (wanted ?? []).entries())
    if (!forms.includes(output))
      throw invalid(`outputs[${i}].name`, `one of ${forms.join(', ')}`, JSON.stringify(output.slice(0, 100)));
  const answer = await runOperation(context, model, operation, body, signal);
  const tensors: Tensor[] = mappings[name].tensors(answer as never);
  return {
    ...{ model_name: model.name, model_version: String(version) },
    ...(id === undefined ? {} : { id }),
    outputs: tensors.filter((tensor) => wanted?.includes(tensor.name) ?? true) as never,
  };
}
