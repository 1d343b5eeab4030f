/** Why a model gives an answer: what the answer depends on, and how much it does. */
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { modelPath, post, useLoad } from '../lib/api.js';
import { eventTime } from '../lib/format.js';
import { linkTo } from '../lib/router.js';
import type {
  EventExplanation,
  Explanation,
  Fidelity,
  LinkExplanation,
  NamedEdge,
  NodeExplanation,
} from '../lib/types.js';
import { Failure } from './failure.js';

/** The answer to explain: the class of a node, or the score of an edge or event. */
export type Explained =
  | { readonly node: string; readonly class?: string }
  | {
      readonly edge: {
        readonly head: string;
        readonly tail: string;
        readonly relation?: string;
        readonly time?: number;
      };
    };

interface WhyButtonProps {
  /** Names the answer to those who do not see the row. */
  readonly of: string;
  readonly panel: string;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function WhyButton({ of, panel, isOpen, onToggle }: WhyButtonProps) {
  return (
    <button
      type="button"
      class="small"
      aria-expanded={isOpen}
      aria-controls={panel}
      aria-label={`Why ${of}?`}
      onClick={onToggle}
    >
      Why?
    </button>
  );
}

interface ExplainedRowProps {
  readonly run: string;
  readonly of: string;
  readonly explained: Explained;
  /** Cells of the row before the button. */
  readonly children: ComponentChildren;
  readonly columns: number;
}

/** A row of a table with a button that opens the reasons below it. */
export function ExplainedRow({ run, of, explained, children, columns }: ExplainedRowProps) {
  const [isOpen, setOpen] = useState(false);
  const panel = useId();
  return (
    <>
      <tr>
        {children}
        <td>
          <WhyButton {...{ of, panel, isOpen }} onToggle={() => setOpen(!isOpen)} />
        </td>
      </tr>
      <tr id={panel} hidden={!isOpen}>
        <td colSpan={columns + 1}>{isOpen ? <Reasons {...{ run, of, explained }} /> : null}</td>
      </tr>
    </>
  );
}

/** A button that opens the reasons below itself. */
export function Why({ run, of, explained }: Omit<ExplainedRowProps, 'children' | 'columns'>) {
  const [isOpen, setOpen] = useState(false);
  const panel = useId();
  return (
    <>
      <WhyButton {...{ of, panel, isOpen }} onToggle={() => setOpen(!isOpen)} />
      <div id={panel} hidden={!isOpen}>
        {isOpen ? <Reasons {...{ run, of, explained }} /> : null}
      </div>
    </>
  );
}

function Reasons({
  run,
  of,
  explained,
}: {
  readonly run: string;
  readonly of: string;
  readonly explained: Explained;
}) {
  const { value, error, reload } = useLoad<Explanation>(JSON.stringify(explained), (body, signal) =>
    post<Explanation>(modelPath(run, 'explain'), JSON.parse(body), signal),
  );
  return (
    <section class="reasons" aria-label={`Reasons for ${of}`} aria-live="polite" aria-busy={value === null}>
      {error === null ? null : <Failure error={error} retry={reload} />}
      {value === null && error === null ? <p class="quiet">Looking for reasons …</p> : null}
      {value === null ? null : value.kind === 'node' ? (
        <NodeReasons found={value} run={run} />
      ) : value.kind === 'link' ? (
        <LinkReasons found={value} run={run} />
      ) : (
        <EventReasons found={value} />
      )}
    </section>
  );
}

function NodeReasons({ found, run }: { readonly found: NodeExplanation; readonly run: string }) {
  return (
    <>
      <Weights title={`Edges that speak for ${found.class}`} rows={found.edges}>
        {(edge) => <EdgeText edge={edge} run={run} />}
      </Weights>
      <Weights title="Features" rows={found.features}>
        {({ name }) => name}
      </Weights>
      <Worth fidelity={found.fidelity} count={found.edges.length} what="edges" />
    </>
  );
}

function LinkReasons({ found, run }: { readonly found: LinkExplanation; readonly run: string }) {
  return (
    <>
      {found.paths.length === 0 ? null : (
        <>
          <h3>Paths between them</h3>
          <ul>
            {found.paths.map(({ edges, support, pairs }) => (
              <li key={edges.map(({ head, relation, tail }) => `${head} ${relation} ${tail}`).join(', ')}>
                {edges.map((edge, i) => (
                  <span key={`${edge.head} ${edge.relation} ${edge.tail}`}>
                    {i === 0 ? null : ', '}
                    <EdgeText edge={edge} run={run} />
                  </span>
                ))}{' '}
                <small>
                  {support} of {pairs} such pairs have the relation
                </small>
              </li>
            ))}
          </ul>
        </>
      )}
      <Weights title="Known facts" rows={found.facts}>
        {(edge) => <EdgeText edge={edge} run={run} />}
      </Weights>
      <Weights title="Words" rows={found.words ?? []}>
        {({ word, column }) => (
          <>
            {word} <small>{column}</small>
          </>
        )}
      </Weights>
      <Worth fidelity={found.fidelity} count={found.facts.length} what="facts" />
    </>
  );
}

function EventReasons({ found }: { readonly found: EventExplanation }) {
  return (
    <>
      <Weights title="Past events" rows={found.events}>
        {({ head, tail, time }) => (
          <>
            {head} <em>→</em> {tail} <small>{eventTime(time)}</small>
          </>
        )}
      </Weights>
      <Worth fidelity={found.fidelity} count={found.events.length} what="events" />
    </>
  );
}

interface WeightsProps<T> {
  readonly title: string;
  readonly rows: readonly T[];
  readonly children: (row: T) => ComponentChildren;
}

function Weights<T extends { readonly weight: number }>({ title, rows, children }: WeightsProps<T>) {
  if (rows.length === 0) return null;
  const most = Math.max(...rows.map(({ weight }) => Math.abs(weight)), 1e-12);
  return (
    <table>
      <caption>{title}</caption>
      <tbody>
        {rows.map((row, i) => (
          <tr key={i}>
            <th scope="row">{children(row)}</th>
            <td class="bar-cell" aria-hidden="true">
              <span
                style={{ width: `${Math.max(1, (100 * Math.abs(row.weight)) / most)}%` }}
                class={row.weight < 0 ? 'minus' : ''}
              />
            </td>
            <td class="number">{row.weight.toPrecision(3)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function EdgeText({ edge, run }: { readonly edge: NamedEdge; readonly run: string }) {
  const name = (node: string) => <a href={linkTo('explore', run, { node })}>{node}</a>;
  return (
    <>
      {name(edge.head)} <em>{edge.relation ?? '→'}</em> {name(edge.tail)}
    </>
  );
}

interface WorthProps {
  readonly fidelity: Fidelity;
  readonly count: number;
  readonly what: string;
}

/** States how much the answer depends on the reasons. */
function Worth({ fidelity: { plus, minus, sparsity, unit }, count, what }: WorthProps) {
  if (count === 0) return <p>No known {what} to explain it by.</p>;
  const amount = (value: number): string =>
    unit === 'probability' ? `${(100 * value).toFixed(1)} percentage points` : value.toFixed(3);
  return (
    <p class="quiet">
      Without these {what} the {unit} falls by {amount(plus)} (fidelity⁺); with them alone it falls by{' '}
      {amount(minus)} (fidelity⁻). They leave out {(100 * sparsity).toFixed(0)} % of the {what}.
    </p>
  );
}
