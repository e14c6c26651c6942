/** What would happen and what it costs, the agreement to it, and what came of it. */

import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { ApiError, IProblem, linesOf } from '../api';
import { money, phaseOf } from '../format';
import { IPlan, ISent } from './answers';
import { Draft } from './draft';
import { Target } from './target';

export interface IPlanBoxProps {
  draft: Draft;
  /** Problems of no field of the form. */
  rest: readonly IProblem[];
  onShow(sent: ISent): void;
  trans: TranslationBundle;
}

export function PlanBox(props: IPlanBoxProps): React.ReactElement {
  const { draft, trans } = props;
  const { planned, sent, sendError } = draft;
  const last = React.useRef(planned);
  last.current = planned ?? (draft.isPlanning ? last.current : null);
  const shown = last.current;
  return (
    <section className="jp-GpuClusters-planBox" aria-label={trans.__('Plan')}>
      <h3>{trans.__('Plan')}</h3>
      <div role="status" aria-busy={draft.isPlanning} data-stale={planned === null || undefined}>
        {shown && <PlanRows plan={shown.plan} trans={trans} />}
        {draft.isPlanning && !shown && <p>{trans.__('Looking up what it would cost…')}</p>}
        {!draft.isPlanning && !shown && !sent && !sendError && <NoPlan {...props} />}
      </div>
      {planned && draft.isRenewed && (
        <p className="jp-GpuClusters-fieldError" role="alert">
          {trans.__('The plan was too old and has been made again. Look at it and confirm it.')}
        </p>
      )}
      {planned && <Agreement draft={draft} trans={trans} />}
      {!sent && (
        <button
          type="button"
          className="jp-mod-styled jp-mod-accept jp-GpuClusters-send"
          disabled={!draft.canSend}
          onClick={() => void draft.send()}
        >
          {draft.isSending ? trans.__('Sending…') : sendLabel(draft.target, trans)}
        </button>
      )}
      {sendError && <SendProblem error={sendError} draft={draft} trans={trans} />}
      {sent && <Result sent={sent} onShow={props.onShow} trans={trans} />}
    </section>
  );
}

function PlanRows({ plan, trans }: { plan: IPlan; trans: TranslationBundle }): React.ReactElement {
  const rows: [string, string][] = [[trans.__('Name'), plan.name]];
  const counts: [string, number][] = [
    [trans.__('Nodes'), plan.nodes],
    [trans.__('Processes'), plan.processes],
    [trans.__('GPUs'), plan.gpus]
  ];
  rows.push(...counts.filter(([, n]) => n > 0).map(([t, n]): [string, string] => [t, String(n)]));
  // A term that is paid as a whole may have no hourly price.
  if (plan.commitment === null || plan.price_per_hour !== null) {
    rows.push([trans.__('Price'), priceOf(plan, trans)]);
  }
  if (plan.commitment) {
    rows.push([trans.__('Commitment'), trans.__('%1 in all', money(plan.commitment))]);
  }
  if (plan.max_hours !== null) {
    rows.push([trans.__('Deleted after'), trans.__('%1 h', plan.max_hours)]);
  }
  return (
    <>
      <dl className="jp-GpuClusters-planRows">
        {rows.map(([term, text]) => (
          <React.Fragment key={term}>
            <dt>{term}</dt>
            <dd>{text}</dd>
          </React.Fragment>
        ))}
      </dl>
      {plan.warnings.map(warning => (
        <p key={warning} className="jp-GpuClusters-planWarning">
          {warning}
        </p>
      ))}
      {Object.keys(plan.shown).length > 0 && (
        <details className="jp-GpuClusters-request">
          <summary>{trans.__('What is sent')}</summary>
          <pre>{JSON.stringify(plan.shown, null, 2)}</pre>
        </details>
      )}
    </>
  );
}

/** No price, or zero where nobody says "free", is an unknown price. */
function priceOf(plan: IPlan, trans: TranslationBundle): string {
  if (plan.is_free) {
    return trans.__('free');
  }
  return plan.price_per_hour && Number(plan.price_per_hour.amount) > 0
    ? trans.__('%1 per hour', money(plan.price_per_hour))
    : trans.__('price unknown');
}

/** Why there is no plan. */
function NoPlan({ draft, rest, trans }: IPlanBoxProps): React.ReactElement {
  const { planError: error } = draft;
  if (!draft.isTouched || error === null) {
    return <p>{trans.__('Fill in the form: what it would do and cost appears here.')}</p>;
  }
  const inFields = error.problems.length - rest.length;
  if (error.problems.length === 0) {
    return (
      <>
        <Lines lines={linesOf(error)} />
        <button
          type="button"
          className="jp-GpuClusters-textButton"
          onClick={() => void draft.plan()}
        >
          {trans.__('Try again')}
        </button>
      </>
    );
  }
  return (
    <>
      {inFields > 0 && (
        <p className="jp-GpuClusters-fieldError">
          {trans._n('%1 field needs attention.', '%1 fields need attention.', inFields)}
        </p>
      )}
      <Lines lines={rest.map(({ field, text }) => (field ? `${field}: ${text}` : text))} />
    </>
  );
}

function Lines({ lines }: { lines: readonly string[] }): React.ReactElement {
  return (
    <div className="jp-GpuClusters-fieldError">
      {lines.map((line, index) => (
        <p key={index}>{line}</p>
      ))}
    </div>
  );
}

function Agreement({ draft, trans }: Pick<IPlanBoxProps, 'draft' | 'trans'>) {
  const { planned } = draft;
  const id = React.useId();
  if (!planned?.agreement) {
    return null;
  }
  return (
    <div className="jp-GpuClusters-agreement">
      <label>
        <input
          type="checkbox"
          checked={draft.isAgreed}
          disabled={draft.isSending}
          onChange={event => {
            draft.isAgreed = event.target.checked;
          }}
        />
        <span>{planned.agreement}</span>
      </label>
      {draft.asksForWords && (
        <>
          <label htmlFor={id}>{trans.__('To confirm, type the name: %1', planned.plan.name)}</label>
          <input
            id={id}
            type="text"
            className="jp-GpuClusters-input"
            autoComplete="off"
            spellCheck={false}
            value={draft.words}
            disabled={draft.isSending}
            onChange={event => {
              draft.words = event.target.value;
            }}
          />
        </>
      )}
    </div>
  );
}

function SendProblem(props: { error: ApiError; draft: Draft; trans: TranslationBundle }) {
  const { error, draft, trans } = props;
  const isUnknown = error.code === 'outcome_unknown' || error.status === 0;
  return (
    <div role="alert">
      <h4>
        {isUnknown
          ? trans.__('It is not known whether that happened')
          : trans.__('That did not work')}
      </h4>
      <Lines lines={linesOf(error)} />
      {isUnknown && (
        <p>{trans.__('Look at the list in the sidebar before you send anything again.')}</p>
      )}
      {draft.planned === null && (
        <button
          type="button"
          className="jp-GpuClusters-textButton"
          onClick={() => void draft.plan()}
        >
          {trans.__('Plan again')}
        </button>
      )}
    </div>
  );
}

function Result(props: Pick<IPlanBoxProps, 'onShow' | 'trans'> & { sent: ISent }) {
  const { sent, onShow, trans } = props;
  const thing = sent.workload ?? sent.cluster;
  const box = React.useRef<HTMLDivElement>(null);
  React.useEffect(() => box.current?.focus(), []);
  return (
    <div ref={box} className="jp-GpuClusters-result" role="status" tabIndex={-1}>
      {thing && (
        <p>
          <b>{thing.full_name}</b>: {phaseOf(thing, trans)}
        </p>
      )}
      {sent.note && <p>{sent.note}</p>}
      {thing?.reason && <p>{thing.reason}</p>}
      <button type="button" className="jp-mod-styled" onClick={() => onShow(sent)}>
        {trans.__('Show in the sidebar')}
      </button>
    </div>
  );
}

function sendLabel(target: Target, trans: TranslationBundle): string {
  switch (target.kind) {
    case 'create':
      return trans.__('Create cluster');
    case 'submit':
      return trans.__('Submit workload');
    case 'scale':
      return trans.__('Change size');
    case 'act':
      return target.title;
  }
}
