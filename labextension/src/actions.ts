/** What the user can do to clusters and workloads. Each is asked first, and sent once however often it is pressed. */

import { TranslationBundle } from '@jupyterlab/translation';
import { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import { asApiError, IApi, ICluster, IDeleted, IWorkload, linesOf } from './api';
import { IDialogs } from './dialogs';
import { hasEnded } from './format';
import { IClustersModel, IView } from './tokens';
import { clusterKey, workloadKey } from './tree';

export interface IActionsOptions {
  api: IApi;
  model: IClustersModel;
  dialogs: IDialogs;
  trans: TranslationBundle;
}

export class Actions implements IDisposable {
  constructor(options: IActionsOptions) {
    this._options = options;
  }

  /** Emitted when something became busy or stopped being so. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Whether the user is being asked, or a request is under way, about the thing with this key. */
  isBusy(key: string): boolean {
    return this._busy.has(key);
  }

  /** Ask, then delete; does nothing while the same is being asked or done. */
  deleteCluster(cluster: ICluster): Promise<void> {
    const { api, dialogs, trans, model } = this._options;
    return this.once(clusterKey(cluster), async () => {
      const running = runningOn(cluster, model.view);
      if (await dialogs.confirmDelete({ cluster, running, doubt: this._doubt(cluster.account) })) {
        const { is_gone: isGone, note } = await api.deleteCluster(cluster).catch(calmIfGone);
        if (note && !isGone) {
          await dialogs.tell(trans.__('%1 is being deleted', cluster.full_name), [note]);
        }
      }
    });
  }

  /** Ask, then cancel; does nothing while the same is being asked or done. */
  cancelWorkload(workload: IWorkload): Promise<void> {
    const { api, dialogs, trans } = this._options;
    return this.once(workloadKey(workload), async () => {
      if (await dialogs.confirmCancel(workload)) {
        const { left_over: leftOver } = await api.cancelWorkload(workload);
        if (leftOver.length > 0) {
          const title = trans.__('%1: processes that would not end', workload.full_name);
          await dialogs.tell(title, leftOver);
        }
      }
    });
  }

  /** Ask, then suspend; does nothing while something is being asked or done about the same. */
  suspend(workload: IWorkload): Promise<void> {
    const { api, dialogs } = this._options;
    return this.once(workloadKey(workload), async () => {
      if (await dialogs.confirmSuspend(workload)) {
        await api.suspend(workload);
      }
    });
  }

  /** Let a resting workload go on. */
  resume(workload: IWorkload): Promise<void> {
    return this.once(workloadKey(workload), async () => {
      await this._options.api.resume(workload);
    });
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      Signal.clearData(this);
    }
  }

  /** Why what is shown of an account may not be what is there. */
  private _doubt(account: string): string | null {
    const { failure, state } = this._options.model.view;
    const known = state?.accounts.find(other => other.account === account);
    return failure?.message ?? known?.error?.message ?? null;
  }

  /** Do something about the thing with this key, unless something is being asked or done about it. */
  async once(key: string, work: () => Promise<void>): Promise<void> {
    if (this._busy.has(key)) {
      return;
    }
    this._setBusy(key, true);
    try {
      await work();
    } catch (reason) {
      await this._tellError(reason);
    } finally {
      this._setBusy(key, false);
      void this._options.model.refresh();
    }
  }

  private async _tellError(reason: unknown): Promise<void> {
    const { dialogs, trans } = this._options;
    const error = asApiError(reason);
    const title =
      error.code === 'outcome_unknown' || error.status === 0
        ? trans.__('It is not known whether that happened')
        : trans.__('That did not work');
    await dialogs.tell(title, linesOf(error));
  }

  private _setBusy(key: string, isBusy: boolean): void {
    if (isBusy) {
      this._busy.add(key);
    } else {
      this._busy.delete(key);
    }
    this._changed.emit();
  }

  private readonly _options: IActionsOptions;
  private readonly _busy = new Set<string>();
  private readonly _changed = new Signal<this, void>(this);
  private _isDisposed = false;
}

/** Somebody else, or another tab, was faster: what was wished is so. */
function calmIfGone(reason: unknown): Pick<IDeleted, 'is_gone' | 'note'> {
  if (asApiError(reason).code === 'not_found') {
    return { is_gone: true, note: null };
  }
  throw reason;
}

/** The workloads that end with the cluster. */
function runningOn(cluster: ICluster, view: IView): IWorkload[] {
  const key = clusterKey(cluster);
  const all = view.state?.workloads ?? [];
  return all.filter(workload => clusterKey(workload) === key && !hasEnded(workload.phase));
}
