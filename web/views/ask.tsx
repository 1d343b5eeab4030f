/** A question to the model: its answers, and the same question as a curl command and as TypeScript. */
import { useState } from 'preact/hooks';
import type { ViewProps } from '../app.js';
import { modelPath, post, runPath, useLoad } from '../lib/api.js';
import { shellText } from '../lib/format.js';
import { linkTo, replaceOptions } from '../lib/router.js';
import type { RankedName } from '../lib/types.js';
import { Failure } from '../parts/failure.js';
import { NameInput } from '../parts/name-input.js';
import { type Explained, ExplainedRow } from '../parts/reasons.js';

type Kind = 'rank' | 'neighbors' | 'classify' | 'recommend';

interface Question {
  readonly kind: Kind;
  readonly head: string;
  readonly tail: string;
  readonly relation: string;
  readonly k: number;
  readonly includeKnown: boolean;
}

const kinds: Readonly<Record<string, readonly Kind[]>> = {
  LINK_PREDICTION: ['rank', 'recommend', 'neighbors'],
  NODE_CLASSIFICATION: ['classify', 'neighbors'],
  TEMPORAL_LINK_PREDICTION: ['rank', 'recommend'],
};

const labels: Readonly<Record<Kind, string>> = {
  rank: 'What is at the other end?',
  recommend: 'What should be recommended?',
  neighbors: 'What is similar?',
  classify: 'Which class is it?',
};

export function AskView({ route, list }: ViewProps) {
  const run = list.runs.find(({ name }) => name === route.run);
  const offered = kinds[run?.task ?? ''] ?? ['neighbors'];
  const question = questionOf(route.options, offered);
  const isEvents = run?.task === 'TEMPORAL_LINK_PREDICTION';
  const { value: relations, error: unread } = useLoad<{ names: string[] }>(
    run?.task === 'LINK_PREDICTION' ? `${runPath(run.name, 'names')}?of=relations&limit=1` : null,
  );
  // Until the relations are known, a question without one is not asked.
  const needsRelation =
    run?.task === 'LINK_PREDICTION' && (relations === null ? unread === null : relations.names.length > 0);
  const lacksRelation = question.kind === 'rank' && question.relation === '' && needsRelation;
  const set = replaceOptions;
  const name = question.head;
  return (
    <>
      <div class="bar">
        <h1>Ask {route.run}</h1>
      </div>
      <div class="question">
        <label>
          Question{' '}
          <select value={question.kind} onChange={(event) => set({ ask: event.currentTarget.value })}>
            {offered.map((kind) => (
              <option key={kind} value={kind}>
                {labels[kind]}
              </option>
            ))}
          </select>
        </label>
        <NameInput
          run={route.run}
          of="nodes"
          label={question.kind === 'rank' ? 'Head' : 'Node'}
          value={name}
          onChoose={(value) => set({ head: value, tail: undefined })}
        />
        {question.kind === 'neighbors' || question.kind === 'classify' || isEvents ? null : (
          <NameInput
            run={route.run}
            of="relations"
            label="Relation"
            value={question.relation}
            onChoose={(value) => set({ relation: value })}
          />
        )}
        {question.kind === 'rank' && !isEvents ? (
          <NameInput
            run={route.run}
            of="nodes"
            label="or tail"
            value={question.tail}
            onChoose={(value) => set({ tail: value, head: undefined })}
          />
        ) : null}
        {question.kind === 'classify' ? null : (
          <label>
            Answers{' '}
            <input
              type="number"
              min="1"
              max="1000"
              value={question.k}
              onChange={(event) => set({ k: event.currentTarget.value })}
            />
          </label>
        )}
        {question.kind === 'rank' && !isEvents ? (
          <label>
            <input
              type="checkbox"
              checked={question.includeKnown}
              onChange={() => set({ known: question.includeKnown ? undefined : 1 })}
            />{' '}
            include known edges
          </label>
        ) : null}
      </div>
      {lacksRelation && bodyOf(question) !== null ? (
        <p class="quiet">
          {relations === null ? 'Reading relations …' : 'Choose a relation as well; the answers appear here.'}
        </p>
      ) : (
        <Answers run={route.run} path={run?.path ?? ''} question={question} />
      )}
    </>
  );
}

function questionOf(options: URLSearchParams, offered: readonly Kind[]): Question {
  const kind = offered.find((one) => one === options.get('ask')) ?? offered[0];
  return {
    kind,
    head: options.get('head') ?? options.get('node') ?? '',
    tail: options.get('tail') ?? '',
    relation: options.get('relation') ?? '',
    k: Math.min(1000, Math.max(1, Math.floor(Number(options.get('k') ?? 10)) || 10)),
    includeKnown: options.get('known') === '1',
  };
}

/** Returns the body of the request; null while the question lacks a name. */
function bodyOf({ kind, head, tail, relation, k, includeKnown }: Question): object | null {
  const by = relation === '' ? {} : { relation };
  switch (kind) {
    case 'rank':
      if (head === '' && tail === '') return null;
      return {
        questions: [{ ...(head === '' ? { tail } : { head }), ...by }],
        k,
        ...(includeKnown ? { includeKnown } : {}),
      };
    case 'recommend':
      return head === '' ? null : { names: [head], k, ...by };
    case 'neighbors':
      return head === '' ? null : { names: [head], k };
    case 'classify':
      return head === '' ? null : { names: [head] };
  }
}

interface Answer {
  readonly answers: readonly (
    | readonly RankedName[]
    | { readonly class: string; readonly probabilities: number[] }
  )[];
  readonly classes?: readonly string[];
}

function Answers({
  run,
  path,
  question,
}: {
  readonly run: string;
  readonly path: string;
  readonly question: Question;
}) {
  const body = bodyOf(question);
  const key = body === null ? null : JSON.stringify({ kind: question.kind, body });
  const { value, error, isLoading, reload } = useLoad<Answer>(key, (_, signal) =>
    post<Answer>(modelPath(run, question.kind), body, signal),
  );
  if (body === null) return <p class="quiet">Choose a name; the answers appear here.</p>;
  const rows = value === null ? [] : rowsOf(value);
  return (
    <>
      {error === null ? null : <Failure error={error} retry={reload} />}
      {isLoading && value === null ? <p class="quiet">Asking …</p> : null}
      {value === null ? null : rows.length === 0 ? (
        <p class="quiet">No answer: every candidate is a known edge. Include known edges to see them.</p>
      ) : (
        <AnswerTable rows={rows} run={run} question={question} />
      )}
      <Code run={run} path={path} question={question} body={body} />
    </>
  );
}

interface Row {
  readonly name: string;
  readonly score: number;
  readonly probability: number | null;
  readonly known: boolean;
}

function rowsOf({ answers, classes = [] }: Answer): Row[] {
  const [first] = answers;
  if (first === undefined) return [];
  if ('probabilities' in first)
    return first.probabilities
      .map((probability, i) => ({
        name: classes[i] ?? String(i),
        score: probability,
        probability,
        known: false,
      }))
      .sort((a, b) => b.score - a.score);
  return first.map(({ name, score, probability = null, known = false }) => ({
    name,
    score,
    probability,
    known,
  }));
}

/** Returns the answer to explain; null for similar nodes, which are compared directly. */
function explainedBy({ kind, head, tail, relation }: Question, answer: string): Explained | null {
  if (kind === 'neighbors') return null;
  if (kind === 'classify') return { node: head, class: answer };
  const ends = head === '' ? { head: answer, tail } : { head, tail: answer };
  return { edge: { ...ends, ...(relation === '' ? {} : { relation }) } };
}

function AnswerTable({
  rows,
  run,
  question,
}: {
  readonly rows: readonly Row[];
  readonly run: string;
  readonly question: Question;
}) {
  const isClass = question.kind === 'classify';
  const scores = rows.map(({ score }) => score);
  const [low, high] = [Math.min(0, ...scores), Math.max(...scores)];
  return (
    <table class="answers" aria-live="polite">
      <tbody>
        {rows.map(({ name, score, probability, known }, i) => {
          const explained = explainedBy(question, name);
          const cells = (
            <>
              <td class="number quiet">{i + 1}</td>
              <th scope="row">
                {isClass ? name : <a href={linkTo('explore', run, { node: name })}>{name}</a>}
              </th>
              <td class="bar-cell" aria-hidden="true">
                <span style={{ width: `${Math.max(1, (100 * (score - low)) / (high - low || 1))}%` }} />
              </td>
              <td class="number">
                {score.toFixed(4)}
                {probability === null || isClass ? null : <small>{(100 * probability).toFixed(1)} %</small>}
                {known ? <small>known</small> : null}
              </td>
            </>
          );
          const key = JSON.stringify([explained, name]);
          return explained === null ? (
            <tr key={key}>{cells}</tr>
          ) : (
            <ExplainedRow {...{ run, explained }} of={name} columns={4} key={key}>
              {cells}
            </ExplainedRow>
          );
        })}
      </tbody>
    </table>
  );
}

interface CodeProps {
  readonly run: string;
  readonly path: string;
  readonly question: Question;
  readonly body: object;
}

function Code({ run, path, question, body }: CodeProps) {
  const address = new URL(modelPath(run, question.kind), document.baseURI).href;
  const curl = `curl ${shellText(address)} \\\n  -H 'content-type: application/json' \\\n  -d ${shellText(JSON.stringify(body))}`;
  return (
    <details>
      <summary>The same question from a program</summary>
      <Copyable title="curl" text={curl} />
      <Copyable title="TypeScript" text={program(path, question)} />
    </details>
  );
}

/** Returns a program that asks the same question with the library. */
function program(path: string, { kind, head, tail, relation, k, includeKnown }: Question): string {
  const by = relation === '' ? {} : { relation };
  const text = (value: unknown): string =>
    JSON.stringify(value)
      .replace(/"(\w+)":/g, ' $1: ')
      .replace(/,(?= \w+:)/g, ',')
      .replace(/}$/, ' }');
  const call = {
    rank: `model.rank(${text({ ...(head === '' ? { tail } : { head }), ...by })}, ${text({ k, ...(includeKnown ? { includeKnown } : {}) })})`,
    recommend: `model.recommend(${JSON.stringify(head)}, ${text({ k, ...by })})`,
    neighbors: `model.neighbors(${JSON.stringify(head)}, ${text({ k })})`,
    classify: `model.classify(${JSON.stringify(head)})`,
  }[kind];
  return `import { openModel } from 'skein/predict';\n\nconst model = await openModel(${JSON.stringify(path)});\nconsole.log(await ${call});\nawait model.close();`;
}

function Copyable({ title, text }: { readonly title: string; readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <figure class="code">
      <figcaption>
        {title}{' '}
        <button
          type="button"
          class="small"
          onClick={() =>
            void navigator.clipboard.writeText(text).then(() => {
              setCopied(true);
              setTimeout(() => setCopied(false), 1500);
            })
          }
        >
          {isCopied ? 'Copied' : 'Copy'}
        </button>
      </figcaption>
      <pre>{text}</pre>
    </figure>
  );
}
