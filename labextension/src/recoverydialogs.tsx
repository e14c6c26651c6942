/** The questions about what is not certain. The careful answer has the focus; what is needed must be given. */

import { Dialog, showDialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import { ICluster, IOrder, IRecovered } from './api';
import { mayCost } from './certainty';
import { IDialogs } from './dialogs';
import { gpus, nodes, phaseOf, price } from './format';

/** For how long the mark of a closed order is watched. */
const WATCHED_DAYS = 30;

const MAX_CANDIDATES = 20;

export interface IRecoveryDialogs {
  /** What a look found out; `null` where nothing about the order is open any more. */
  tellFound(order: IOrder, found: IRecovered | null): Promise<void>;
  /** An order was settled meanwhile, and this is what it made. */
  tellSettled(order: IOrder, made: ICluster | null): Promise<void>;
  /** Which of these the order made; the id, or `null` for none. */
  choose(order: IOrder, candidates: readonly ICluster[]): Promise<string | null>;
  confirmDeleteOnSight(order: IOrder): Promise<boolean>;
  /** The statement that nothing exists of the order, or `null`. */
  askToCloseOrder(order: IOrder): Promise<string | null>;
  /** The statement that the cluster is gone, or `null`. */
  askToCloseCluster(cluster: ICluster): Promise<string | null>;
}

export class RecoveryDialogs implements IRecoveryDialogs {
  constructor(
    private readonly _trans: TranslationBundle,
    private readonly _dialogs: Pick<IDialogs, 'tell' | 'confirm'>
  ) {}

  tellFound(order: IOrder, found: IRecovered | null): Promise<void> {
    const trans = this._trans;
    if (!found || found.kind === 'settled') {
      const made = found?.cluster
        ? trans.__('It is in the list: %1.', found.cluster.full_name)
        : '';
      const title = trans.__('It is known what became of “%1”', order.name);
      return this._dialogs.tell(title, [found?.note ?? trans.__('It is settled.'), made]);
    }
    const candidates = found.candidates.map(
      candidate => `${candidate.full_name} (${candidate.cluster_id}): ${factsOf(candidate, trans)}`
    );
    const hint =
      candidates.length > 0
        ? trans.__('These may be it, but nothing on them proves it; “Adopt…” takes one of them:')
        : trans.__(
            'Look at the provider’s console. If nothing is there, close it; if you no longer want it, have it deleted as soon as it shows.'
          );
    const title = trans.__('It is still not known what became of “%1”', order.name);
    return this._dialogs.tell(title, [found.note, hint, ...candidates.slice(0, MAX_CANDIDATES)]);
  }

  tellSettled(order: IOrder, made: ICluster | null): Promise<void> {
    const trans = this._trans;
    const line = made
      ? trans.__('It has shown meanwhile as %1, and nothing was done to it.', made.full_name)
      : trans.__('It was settled meanwhile in another way. Look at the list.');
    return this._dialogs.tell(trans.__('“%1” is no longer open', order.name), [line]);
  }

  choose(order: IOrder, candidates: readonly ICluster[]): Promise<string | null> {
    const trans = this._trans;
    const body = new CandidatesBody(order, candidates.slice(0, MAX_CANDIDATES), trans);
    return answered(trans.__('What was made of “%1”?', order.name), body, trans.__('Adopt'), trans);
  }

  confirmDeleteOnSight(order: IOrder): Promise<boolean> {
    const trans = this._trans;
    return this._dialogs.confirm(
      trans.__('Delete “%1” as soon as it shows?', order.name),
      <>
        <OrderFacts order={order} trans={trans} />
        <p>
          {trans.__(
            'Whoever of your notebooks and this Jupyter server sees it first deletes it. The order stays open until then.'
          )}
        </p>
        <p>{trans.__('This cannot be undone.')}</p>
      </>,
      { keep: trans.__('Cancel'), go: trans.__('Delete as soon as it shows') }
    );
  }

  askToCloseOrder(order: IOrder): Promise<string | null> {
    const trans = this._trans;
    const body = new StatementBody(
      <>
        <OrderFacts order={order} trans={trans} />
        <p>
          {trans.__(
            'Closing states that nothing exists of it; its name is free again. Its mark is watched for %1 days: if it appears after all, you are told.',
            WATCHED_DAYS
          )}
        </p>
      </>,
      trans
    );
    return answered(trans.__('Close “%1”?', order.name), body, trans.__('Close'), trans);
  }

  askToCloseCluster(cluster: ICluster): Promise<string | null> {
    const trans = this._trans;
    const body = new StatementBody(
      <>
        <p>{factsOf(cluster, trans)}</p>
        {cluster.reason && <p>{cluster.reason}</p>}
        <p>
          {trans.__(
            'Nobody here deleted it, and whether it still bills is not known. Closing states that it is gone; if it shows again, it is listed again.'
          )}
        </p>
      </>,
      trans
    );
    const title = trans.__('Close cluster “%1”?', cluster.full_name);
    return answered(title, body, trans.__('Close'), trans);
  }
}

function OrderFacts({ order, trans }: { order: IOrder; trans: TranslationBundle }) {
  const since = new Date(order.created_at).toLocaleString();
  return (
    <>
      <p>
        {trans.__(
          'Sent to %1 at %2: %3, %4.',
          order.account,
          since,
          order.verb,
          mayCost(order.price_per_hour, trans)
        )}{' '}
        {order.note}
      </p>
      {order.remote_name !== order.name && (
        <p>{trans.__('The provider would call it %1.', order.remote_name)}</p>
      )}
    </>
  );
}

/** Phase, size, price and age of something that may be it. */
function factsOf(cluster: ICluster, trans: TranslationBundle): string {
  const created = cluster.created_at
    ? trans.__('created %1', new Date(cluster.created_at).toLocaleString())
    : trans.__('created at an unknown time');
  const size = nodes(cluster.node_count, trans);
  return [phaseOf(cluster, trans), size, gpus(cluster), price(cluster, trans), created]
    .filter(Boolean)
    .join(', ');
}

/** Ask for a value; `null` where nobody gave one. */
function answered<T>(
  title: string,
  body: Dialog.IBodyWidget<T>,
  go: string,
  trans: TranslationBundle
): Promise<T | null> {
  const buttons = [
    Dialog.cancelButton({ label: trans.__('Cancel') }),
    Dialog.warnButton({ label: go })
  ];
  return showDialog<T>({ title, body, buttons, defaultButton: 0 }).then(
    ({ button, value }) => (button.accept ? value : null),
    () => null
  );
}

/** Have the dialog look again whether what is needed was given; without it, it cannot be accepted. */
function useValidation(ref: React.RefObject<HTMLElement>, value: unknown): void {
  React.useLayoutEffect(() => {
    ref.current?.dispatchEvent(new Event('input', { bubbles: true }));
  }, [ref, value]);
}

class StatementBody extends ReactWidget implements Dialog.IBodyWidget {
  constructor(
    private readonly _about: React.ReactElement,
    private readonly _trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-GpuClusters-dialog');
  }

  getValue(): string {
    return this._statement;
  }

  protected override render(): React.ReactElement {
    const onChange = (text: string) => (this._statement = text);
    return (
      <>
        {this._about}
        <StatementField onChange={onChange} trans={this._trans} />
      </>
    );
  }

  private _statement = '';
}

function StatementField(props: { onChange(text: string): void; trans: TranslationBundle }) {
  const { onChange, trans } = props;
  const [text, setText] = React.useState('');
  const id = React.useId();
  const field = React.useRef<HTMLTextAreaElement>(null);
  React.useLayoutEffect(() => {
    field.current?.setCustomValidity(text.trim() ? '' : trans.__('Say how you know.'));
  }, [text, trans]);
  useValidation(field, text);
  return (
    <div className="jp-GpuClusters-statement">
      <label htmlFor={id}>{trans.__('How do you know?')}</label>
      <textarea
        ref={field}
        id={id}
        rows={2}
        maxLength={2000}
        required
        aria-describedby={`${id}-help`}
        value={text}
        onChange={event => {
          setText(event.target.value);
          onChange(event.target.value);
        }}
      />
      <small id={`${id}-help`}>
        {trans.__('Needed, and recorded with the order. For example: the console shows nothing.')}
      </small>
    </div>
  );
}

class CandidatesBody extends ReactWidget implements Dialog.IBodyWidget<string | null> {
  constructor(
    private readonly _order: IOrder,
    private readonly _candidates: readonly ICluster[],
    private readonly _trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-GpuClusters-dialog');
  }

  getValue(): string | null {
    return this._chosen;
  }

  protected override render(): React.ReactElement {
    const trans = this._trans;
    return (
      <>
        <OrderFacts order={this._order} trans={trans} />
        <p>
          {trans.__(
            'Nothing on these proves that this order made them. Adopt one only if you know.'
          )}
        </p>
        <Candidates
          candidates={this._candidates}
          onChange={id => (this._chosen = id)}
          trans={trans}
        />
      </>
    );
  }

  private _chosen: string | null = null;
}

interface ICandidatesProps {
  candidates: readonly ICluster[];
  onChange(id: string): void;
  trans: TranslationBundle;
}

function Candidates({ candidates, onChange, trans }: ICandidatesProps): React.ReactElement {
  const name = React.useId();
  const first = React.useRef<HTMLInputElement>(null);
  useValidation(first, null);
  return (
    <fieldset className="jp-GpuClusters-candidates">
      <legend>{trans.__('What it made')}</legend>
      {candidates.map((candidate, index) => (
        <label key={candidate.cluster_id}>
          <input
            ref={index === 0 ? first : undefined}
            type="radio"
            name={name}
            required
            onChange={() => onChange(candidate.cluster_id)}
          />
          <span>
            <b>{candidate.name}</b> ({candidate.cluster_id})<br />
            {factsOf(candidate, trans)}
          </span>
        </label>
      ))}
    </fieldset>
  );
}
