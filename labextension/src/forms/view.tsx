/** A whole form: what it is for, its fields, and beside them the plan. Loaded when the first form is opened. */

import { Clipboard } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { Message } from '@lumino/messaging';
import * as React from 'react';

import { IAccount, linesOf } from '../api';
import { useSignals } from '../hooks';
import { ISent } from './answers';
import { describedBy } from './controls';
import { place } from './data';
import { Draft } from './draft';
import { PlanBox } from './planbox';
import { SchemaForm } from './schemaform';
import { hasName, Target } from './target';
import { Problems } from './templates';

/** The field of a wish that says when it ends. */
const MAX_HOURS = 'max_hours';

export interface IFormHost {
  /** Accounts that can create clusters. */
  accounts: readonly IAccount[];
  /** Show what was made in the sidebar. */
  show(sent: ISent): void;
  /** Put a cell below the active one of the notebook in use; `false` where there is none. */
  insertCell(text: string): boolean;
  trans: TranslationBundle;
}

export class FormWidget extends ReactWidget {
  constructor(
    readonly draft: Draft,
    private readonly _host: IFormHost
  ) {
    super();
    this.addClass('jp-GpuClusters-form');
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this.draft.dispose();
      super.dispose();
    }
  }

  protected override onActivateRequest(_: Message): void {
    focusFirst(this.node);
  }

  protected override render(): React.ReactElement {
    return <FormView draft={this.draft} {...this._host} />;
  }
}

/** Put the focus on the first control, unless the user is in the form already or somewhere else. */
function focusFirst(node: HTMLElement): void {
  const { activeElement } = document;
  if (activeElement === document.body || activeElement?.contains(node)) {
    node.querySelector<HTMLElement>('input, select, textarea')?.focus();
  }
}

type IFormViewProps = IFormHost & { draft: Draft };

export function FormView(props: IFormViewProps): React.ReactElement {
  const { draft, trans } = props;
  useSignals(draft.changed);
  const { fields, loadError, target, data, isTouched, problems: all } = draft;
  const box = React.useRef<HTMLDivElement>(null);
  const hasFields = fields !== null;
  React.useEffect(() => {
    if (box.current) {
      focusFirst(box.current);
    }
  }, [hasFields]);
  const placed = React.useMemo(() => {
    const problems = isTouched ? all : [];
    const own = hasName(target) ? problems.filter(({ field }) => field === 'name') : [];
    const ends = problems.filter(({ field }) => field === MAX_HOURS);
    const others = problems.filter(problem => !own.includes(problem) && !ends.includes(problem));
    return { own, ends, ...place(others, fields?.schema ?? {}, data) };
  }, [target, all, isTouched, data, fields]);
  return (
    <div
      ref={box}
      className="jp-GpuClusters-formColumns"
      role="form"
      aria-label={titleOf(draft.target, trans)}
    >
      <div className="jp-GpuClusters-formMain">
        <h2>{titleOf(draft.target, trans)}</h2>
        {fields?.description && <p>{fields.description}</p>}
        <div className="jp-GpuClusters-fields">
          {draft.target.kind === 'create' && <AccountField {...props} />}
          {hasName(draft.target) && (
            <NameField {...props} problems={placed.own.map(({ text }) => text)} />
          )}
        </div>
        {!fields && !loadError && <p role="status">{trans.__('Loading the fields…')}</p>}
        {loadError && <LoadProblem {...props} />}
        {fields && (
          <SchemaForm
            key={draft.account}
            schema={fields.schema}
            data={draft.data}
            errors={placed.errors}
            lists={draft.lists}
            trans={trans}
            onChange={data => draft.write(data)}
          />
        )}
        {fields && draft.target.kind === 'create' && (
          <div className="jp-GpuClusters-fields">
            <EndField {...props} problems={placed.ends.map(({ text }) => text)} />
          </div>
        )}
        {fields && fields.secrets.length > 0 && (
          <p className="jp-GpuClusters-fieldHelp">
            {trans.__(
              'Not in this form, because they hold secrets: %1. Secrets are given by reference in a notebook: $name in a cell takes a variable of the notebook.',
              fields.secrets.join(', ')
            )}
          </p>
        )}
      </div>
      <div className="jp-GpuClusters-formSide">
        <PlanBox draft={draft} rest={placed.rest} onShow={props.show} trans={trans} />
        {draft.planned?.cell && <CellBox text={draft.planned.cell} {...props} />}
      </div>
    </div>
  );
}

function AccountField({ draft, accounts, trans }: IFormViewProps): React.ReactElement {
  const id = React.useId();
  return (
    <div className="jp-GpuClusters-field">
      <label htmlFor={id}>{trans.__('Account')}</label>
      <select
        id={id}
        className="jp-GpuClusters-input"
        value={draft.account}
        disabled={draft.isSending}
        onChange={event => void draft.chooseAccount(event.target.value)}
      >
        {accounts.map(({ account, title }) => (
          <option key={account} value={account}>
            {account === title ? account : `${account} (${title})`}
          </option>
        ))}
      </select>
      <div className="jp-GpuClusters-fieldHelp">
        {trans.__('Who provides it, and on whose bill.')}
      </div>
    </div>
  );
}

function NameField(props: IFormViewProps & { problems: string[] }): React.ReactElement {
  const { draft, problems, trans } = props;
  const id = React.useId();
  const isNeeded = draft.target.kind === 'create';
  return (
    <div className="jp-GpuClusters-field" data-invalid={problems.length > 0 || undefined}>
      <label htmlFor={id}>
        {trans.__('Name')}
        {isNeeded && <span aria-hidden> *</span>}
      </label>
      <input
        id={id}
        type="text"
        className="jp-GpuClusters-input"
        autoComplete="off"
        spellCheck={false}
        aria-required={isNeeded}
        aria-invalid={problems.length > 0}
        aria-describedby={describedBy(id)}
        placeholder={isNeeded ? undefined : trans.__('left empty, one is made up')}
        value={draft.name}
        onChange={event => draft.rename(event.target.value)}
      />
      <Problems id={`${id}__error`} texts={problems} />
    </div>
  );
}

/** When a new cluster is to be deleted by itself. */
function EndField(props: IFormViewProps & { problems: string[] }): React.ReactElement {
  const { draft, problems, trans } = props;
  const id = React.useId();
  return (
    <div className="jp-GpuClusters-field" data-invalid={problems.length > 0 || undefined}>
      <label htmlFor={id}>{trans.__('Delete after (hours)')}</label>
      <input
        id={id}
        type="number"
        min={0}
        step="any"
        className="jp-GpuClusters-input"
        autoComplete="off"
        aria-invalid={problems.length > 0}
        aria-describedby={describedBy(id)}
        placeholder={trans.__('left empty, it goes on until it is deleted')}
        value={draft.maxHours}
        onChange={event => {
          draft.maxHours = event.target.value;
        }}
      />
      <Problems id={`${id}__error`} texts={problems} />
    </div>
  );
}

function LoadProblem({ draft, trans }: IFormViewProps): React.ReactElement {
  return (
    <div role="alert" className="jp-GpuClusters-fieldError">
      {draft.loadError && linesOf(draft.loadError).map((line, index) => <p key={index}>{line}</p>)}
      <button type="button" className="jp-GpuClusters-textButton" onClick={() => void draft.load()}>
        {trans.__('Try again')}
      </button>
    </div>
  );
}

/** The notebook cell that does the same. */
function CellBox({ text, insertCell, trans }: IFormViewProps & { text: string }) {
  const [said, say] = React.useState('');
  return (
    <details className="jp-GpuClusters-cell">
      <summary>{trans.__('The same as a notebook cell')}</summary>
      <pre>{text}</pre>
      <button
        type="button"
        className="jp-GpuClusters-textButton"
        onClick={() =>
          say(insertCell(text) ? trans.__('Inserted.') : trans.__('No notebook is open.'))
        }
      >
        {trans.__('Insert as cell')}
      </button>{' '}
      <button
        type="button"
        className="jp-GpuClusters-textButton"
        onClick={() => {
          Clipboard.copyToSystem(text);
          say(trans.__('Copied.'));
        }}
      >
        {trans.__('Copy')}
      </button>{' '}
      <span role="status">{said}</span>
    </details>
  );
}

export function titleOf(target: Target, trans: TranslationBundle): string {
  switch (target.kind) {
    case 'create':
      return trans.__('New cluster');
    case 'submit':
      return trans.__('Submit a workload to %1', target.full_name);
    case 'scale':
      return trans.__('Scale %1', target.full_name);
    case 'act':
      return trans.__('%1: %2', target.title, target.full_name);
  }
}
