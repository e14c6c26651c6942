/** What the sidebar shows: notices, the tree, and words where there is nothing to show. */

import { addIcon, copyIcon, refreshIcon } from '@jupyterlab/ui-components';
import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { Actions } from './actions';
import { IAccount } from './api';
import { overdueDelete, serverNow } from './certainty';
import { age, ageOf } from './format';
import { useNow, useSignals } from './hooks';
import { IItemHandlers, Item } from './item';
import { Tree } from './list';
import { Outline } from './outline';
import { Recovery } from './recovery';
import { describe } from './text';
import { IClustersModel, IView } from './tokens';
import { Row } from './tree';

const MAX_NOTICES = 3;

export interface IViewProps {
  model: IClustersModel;
  outline: Outline;
  actions: Actions;
  recovery: Pick<Recovery, 'candidatesOf'>;
  handlers: IItemHandlers;
  trans: TranslationBundle;
  isVisible: boolean;
}

export function ClustersView(props: IViewProps): React.ReactElement {
  const { model, outline, actions } = props;
  useSignals(model.changed, outline.changed, actions.changed);
  // The list may have come after the last tick: no age is below zero.
  const now = Math.max(useNow(props.isVisible), model.view.receivedAt);
  const { view } = model;
  if (view.state === null) {
    return <NothingKnown {...props} />;
  }
  return (
    <>
      <Notices view={view} now={now} {...props} />
      {outline.rows.length > 0 && <ClustersTree view={view} now={now} {...props} />}
      {view.status === 'ready' && view.state.clusters.length === 0 && (
        <HowToStart view={view} {...props} />
      )}
    </>
  );
}

interface ITimedProps extends IViewProps {
  view: IView;
  now: number;
}

function ClustersTree(props: ITimedProps): React.ReactElement {
  const { outline, actions, recovery, handlers, trans, view, now } = props;
  const candidates = (row: Row) =>
    row.kind === 'order' ? (recovery.candidatesOf(row.order)?.length ?? 0) : 0;
  return (
    <Tree
      outline={outline}
      label={trans.__('GPU clusters')}
      onOpen={row => handlers.open(row.key)}
      onRemove={row => handlers.remove(row.key)}
      renderRow={(row, place) => (
        <Item
          key={row.key}
          rowKey={row.key}
          kind={row.kind}
          provider={row.account.provider}
          name={row.name}
          level={row.level}
          position={row.position}
          setSize={row.setSize}
          isExpanded={row.isExpanded}
          isBusy={actions.isBusy(row.key)}
          handlers={handlers}
          trans={trans}
          {...place}
          {...describe(row, view, now, trans, candidates(row))}
        />
      )}
    />
  );
}

/** No list yet: we are looking, or could not, or our part of the server is not there. */
function NothingKnown({ model, trans }: IViewProps): React.ReactElement {
  const { status, failure } = model.view;
  if (status === 'loading') {
    return (
      <div className="jp-GpuClusters-words" role="status">
        {trans.__('Looking at your accounts…')}
      </div>
    );
  }
  const isMissing = status === 'missing';
  return (
    <div className="jp-GpuClusters-words" role="alert">
      <h3>{isMissing ? trans.__('The server part is not running') : trans.__('Could not look')}</h3>
      {isMissing ? (
        <p>
          {trans.__(
            'The Jupyter server does not know jupyter_gpu_clusters. See whether it is enabled:'
          )}
          <code>jupyter server extension list</code>
          {trans.__('After installing or enabling it, restart the server.')}
        </p>
      ) : (
        <p>{failure?.message}</p>
      )}
      {failure?.hint && <p>{failure.hint}</p>}
      <TryAgain model={model} trans={trans} />
    </div>
  );
}

function TryAgain({ model, trans }: Pick<IViewProps, 'model' | 'trans'>): React.ReactElement {
  return (
    <button
      type="button"
      className="jp-GpuClusters-textButton"
      onClick={() => void model.refresh()}
    >
      <refreshIcon.react tag="span" />
      {trans.__('Try again')}
    </button>
  );
}

function Notices(props: ITimedProps): React.ReactElement {
  const { model, trans, view, now } = props;
  const accounts = view.state?.accounts.filter(account => account.error !== null) ?? [];
  const isCut = view.status === 'failed' || view.status === 'missing';
  return (
    <div className="jp-GpuClusters-notices" role="status">
      {view.otherVersion !== null && (
        <p className="jp-GpuClusters-notice" data-tone="warn">
          {trans.__(
            'The server part is version %1, this page another. Reload the page; if this stays, restart the server.',
            view.otherVersion
          )}
        </p>
      )}
      {view.state?.notices.slice(0, MAX_NOTICES).map(notice => (
        <p key={notice} className="jp-GpuClusters-notice" data-tone="warn">
          {notice}
        </p>
      ))}
      <OverdueDeletes {...props} />
      {isCut && (
        <p className="jp-GpuClusters-notice" data-tone="bad">
          <b>{trans.__('Could not look.')}</b>{' '}
          {trans.__('This list came %1.', age((now - view.receivedAt) / 1000, trans))}{' '}
          {view.failure?.message} {view.failure?.hint}
          <TryAgain model={model} trans={trans} />
        </p>
      )}
      {!isCut &&
        accounts
          .slice(0, MAX_NOTICES)
          .map(account => <AccountNotice key={account.account} account={account} {...props} />)}
      {!isCut && accounts.length > MAX_NOTICES && (
        <p className="jp-GpuClusters-notice" data-tone="warn">
          {trans.__('%1 more accounts could not be looked at.', accounts.length - MAX_NOTICES)}
        </p>
      )}
    </div>
  );
}

/** Clusters that were to go long ago: they may bill on. */
function OverdueDeletes({ trans, view, now }: ITimedProps): React.ReactElement | null {
  const { state } = view;
  if (state === null) {
    return null;
  }
  const atMs = serverNow(view, now);
  const overdue = state.clusters.filter(cluster => overdueDelete(cluster, state, atMs));
  return (
    <>
      {overdue.slice(0, MAX_NOTICES).map(({ account, cluster_id: id, full_name: name, reason }) => (
        <p key={`${account}/${id}`} className="jp-GpuClusters-notice" data-tone="warn">
          <b>{trans.__('%1 is still not confirmed gone.', name)}</b> {reason}
        </p>
      ))}
      {overdue.length > MAX_NOTICES && (
        <p className="jp-GpuClusters-notice" data-tone="warn">
          {trans.__('%1 more are not confirmed gone.', overdue.length - MAX_NOTICES)}
        </p>
      )}
    </>
  );
}

function AccountNotice(props: ITimedProps & { account: IAccount }): React.ReactElement {
  const { account, trans, view, now } = props;
  const seconds = ageOf(account, view, now);
  return (
    <p className="jp-GpuClusters-notice" data-tone="warn">
      <b>{trans.__('Could not look at %1.', account.account)}</b>{' '}
      {seconds === null
        ? trans.__('What runs there is not known.')
        : trans.__('What is shown was seen %1.', age(seconds, trans))}{' '}
      {account.error?.message} {account.error?.hint}
    </p>
  );
}

/** For somebody who has no cluster yet: the form and the two lines that make one. */
function HowToStart({
  view,
  handlers,
  trans
}: IViewProps & { view: IView }): React.ReactElement | null {
  const account = view.state?.accounts.find(({ can }) => can.includes('create'));
  if (
    !account ||
    view.state?.accounts.some(account => account.error !== null || account.observed_at === null)
  ) {
    return null;
  }
  const lines = [
    '%load_ext jupyter_gpu_clusters',
    `%cluster_create ${account.account} --name demo --nodes 2`
  ];
  return (
    <div className="jp-GpuClusters-words">
      <p>{trans.__('No clusters.')}</p>
      <button type="button" className="jp-GpuClusters-textButton" onClick={() => handlers.create()}>
        <addIcon.react tag="span" />
        {trans.__('New cluster…')}
      </button>
      <p>{trans.__('Or run this in a notebook:')}</p>
      <div className="jp-GpuClusters-code">
        <pre>
          {lines.map(line => (
            <div key={line}>{unbrokenWords(line)}</div>
          ))}
        </pre>
        <button
          type="button"
          className="jp-GpuClusters-button"
          aria-label={trans.__('Copy these lines')}
          title={trans.__('Copy these lines')}
          onClick={() => void navigator.clipboard.writeText(lines.join('\n'))}
        >
          <copyIcon.react tag="span" />
        </button>
      </div>
    </div>
  );
}

function unbrokenWords(line: string): React.ReactNode[] {
  return line.split(' ').flatMap((word, index) => [' ', <span key={index}>{word}</span>]);
}
