/** The questions asked before something ends, and what is told afterwards. The careful answer has the focus. */

import { Dialog, showDialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { ICluster, IWorkload } from './api';
import { extent, gpus, nodes, phaseOf } from './format';
import { costSentence } from './text';

const MAX_NAMES = 8;

export interface IDeleteQuestion {
  cluster: ICluster;
  /** The workloads that end with it. */
  running: readonly IWorkload[];
  /** Why what is known of it may be out of date. */
  doubt: string | null;
}

export interface IDialogs {
  confirmDelete(question: IDeleteQuestion): Promise<boolean>;
  confirmCancel(workload: IWorkload): Promise<boolean>;
  confirmSuspend(workload: IWorkload): Promise<boolean>;
  confirm(
    title: string,
    body: React.ReactElement,
    labels: { keep: string; go: string }
  ): Promise<boolean>;
  /** Empty lines are left out. */
  tell(title: string, lines: readonly string[]): Promise<void>;
}

export class Dialogs implements IDialogs {
  constructor(trans: TranslationBundle) {
    this._trans = trans;
  }

  confirmDelete(question: IDeleteQuestion): Promise<boolean> {
    const trans = this._trans;
    return this.confirm(
      trans.__('Delete cluster “%1”?', question.cluster.full_name),
      <DeleteBody {...question} trans={trans} />,
      { keep: trans.__('Cancel'), go: trans.__('Delete') }
    );
  }

  confirmCancel(workload: IWorkload): Promise<boolean> {
    const trans = this._trans;
    return this.confirm(
      trans.__('Cancel workload “%1”?', workload.full_name),
      <p>
        {trans.__('All its processes are ended, on every node (%1).', extent(workload, trans))}{' '}
        {trans.__('The cluster and its cost go on.')}
      </p>,
      { keep: trans.__('Keep running'), go: trans.__('Cancel workload') }
    );
  }

  confirmSuspend(workload: IWorkload): Promise<boolean> {
    const trans = this._trans;
    return this.confirm(
      trans.__('Suspend workload “%1”?', workload.full_name),
      <p>
        {trans.__(
          'Its processes end and give back what they hold. It can be resumed and then starts anew.'
        )}
      </p>,
      { keep: trans.__('Keep running'), go: trans.__('Suspend') }
    );
  }

  async tell(title: string, lines: readonly string[]): Promise<void> {
    const body = lines.filter(Boolean).map((line, index) => <p key={index}>{line}</p>);
    await accepted({ title, body, buttons: [Dialog.okButton({ label: this._trans.__('Close') })] });
  }

  confirm(
    title: string,
    body: React.ReactElement,
    labels: { keep: string; go: string }
  ): Promise<boolean> {
    const keep = Dialog.cancelButton({ label: labels.keep });
    const go = Dialog.warnButton({ label: labels.go });
    return accepted({ title, body, buttons: [keep, go], defaultButton: 0 });
  }

  private readonly _trans: TranslationBundle;
}

type DialogOptions = Pick<Dialog.IOptions<never>, 'title' | 'buttons'> & {
  body: React.ReactNode;
  defaultButton?: number;
};

/** Show a dialog; one that the page takes away again was not accepted. */
function accepted({ body, ...options }: DialogOptions): Promise<boolean> {
  const dialog = showDialog({
    ...options,
    body: <div className="jp-GpuClusters-dialog">{body}</div>
  });
  return dialog.then(
    ({ button }) => button.accept,
    () => false
  );
}

function DeleteBody(props: IDeleteQuestion & { trans: TranslationBundle }): React.ReactElement {
  const { cluster, running, doubt, trans } = props;
  const size = [nodes(cluster.node_count, trans), gpus(cluster)].filter(Boolean).join(', ');
  return (
    <>
      <p>
        {size}, {phaseOf(cluster, trans)}. {costSentence(cluster, trans)}
      </p>
      {running.length === 0 ? (
        <p>{trans.__('No workload is running on it.')}</p>
      ) : (
        <>
          <p>
            {trans._n('%1 workload ends with it:', '%1 workloads end with it:', running.length)}
          </p>
          <ul>
            {running.slice(0, MAX_NAMES).map(workload => (
              <li key={workload.workload_id}>
                {workload.name} ({phaseOf(workload, trans)})
              </li>
            ))}
            {running.length > MAX_NAMES && (
              <li>{trans.__('and %1 more', running.length - MAX_NAMES)}</li>
            )}
          </ul>
        </>
      )}
      {!cluster.created_here && <p>{trans.__('It was not created from here.')}</p>}
      {doubt && <p>{trans.__('What is shown may be out of date: %1', doubt)}</p>}
      <p>{trans.__('This cannot be undone.')}</p>
    </>
  );
}
