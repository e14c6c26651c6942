/**
 * What the user can do about what is not certain: look again, adopt, delete on sight, close.
 *
 * The same wish from two tabs is calm: where another tab was faster, it is so already.
 */

import { TranslationBundle } from '@jupyterlab/translation';

import { Actions } from './actions';
import { asApiError, IApi, ICluster, IOrder, IRecovered } from './api';
import { madeBy } from './certainty';
import { IRecoveryDialogs } from './recoverydialogs';
import { IClustersModel } from './tokens';
import { clusterKey, orderKey } from './tree';

export interface IRecoveryOptions {
  api: Pick<IApi, 'recover' | 'adopt' | 'deleteOnSight' | 'closeOrder' | 'closeVanished'>;
  model: IClustersModel;
  actions: Pick<Actions, 'once'>;
  dialogs: IRecoveryDialogs;
  trans: TranslationBundle;
}

export class Recovery {
  constructor(private readonly _options: IRecoveryOptions) {}

  /** What may be what the order made, as of the last look; `null` where nobody has looked. */
  candidatesOf(order: IOrder): readonly ICluster[] | null {
    return this._candidates.get(order.order_id) ?? null;
  }

  /** Look now what became of an order, and tell. */
  check(order: IOrder): Promise<void> {
    return this._once(order, async () => {
      const found = await this._look(order);
      await this._options.dialogs.tellFound(order, found);
    });
  }

  /** Look, ask which of the things that may be it is it, and adopt that. */
  adopt(order: IOrder): Promise<void> {
    const { api, dialogs } = this._options;
    return this._once(order, async () => {
      const found = await this._look(order);
      if (!found || found.candidates.length === 0) {
        await dialogs.tellFound(order, found);
        return;
      }
      const id = await dialogs.choose(order, found.candidates);
      if (id !== null) {
        await api.adopt(order, id).catch((reason: unknown) => this._calm(reason, order, id));
      }
    });
  }

  /** Ask, then wish away what an order made as soon as it shows. */
  deleteOnSight(order: IOrder): Promise<void> {
    const { api, dialogs } = this._options;
    return this._once(order, async () => {
      if (await dialogs.confirmDeleteOnSight(order)) {
        await api.deleteOnSight(order).catch((reason: unknown) => this._calm(reason, order));
      }
    });
  }

  /** Ask for a statement, then close the order with it. */
  closeOrder(order: IOrder): Promise<void> {
    const { api, dialogs } = this._options;
    return this._once(order, async () => {
      const statement = (await dialogs.askToCloseOrder(order))?.trim();
      if (statement) {
        await api
          .closeOrder(order, statement)
          .catch((reason: unknown) => this._calm(reason, order));
      }
    });
  }

  /** Ask for a statement, then forget a cluster that vanished. */
  closeVanished(cluster: ICluster): Promise<void> {
    const { actions, api, dialogs } = this._options;
    return actions.once(clusterKey(cluster), async () => {
      const statement = (await dialogs.askToCloseCluster(cluster))?.trim();
      if (statement) {
        await api.closeVanished(cluster, statement).catch(rethrowUnlessGone);
      }
    });
  }

  private _once(order: IOrder, work: () => Promise<void>): Promise<void> {
    return this._options.actions.once(orderKey(order), work);
  }

  private async _look(order: IOrder): Promise<IRecovered | null> {
    const { recovered } = await this._options.api.recover();
    this._candidates = new Map(recovered.map(one => [one.order.order_id, one.candidates]));
    return recovered.find(one => one.order.order_id === order.order_id) ?? null;
  }

  /** The order is no longer open. What it made is named, unless that is what was wished. */
  private async _calm(reason: unknown, order: IOrder, wishedId?: string): Promise<void> {
    const { model, dialogs } = this._options;
    rethrowUnlessGone(reason);
    await model.refresh();
    const made = madeBy(order, model.view.state);
    if (made ? made.cluster_id !== wishedId && made.phase !== 'deleting' : wishedId) {
      await dialogs.tellSettled(order, made ?? null);
    }
  }

  private _candidates: ReadonlyMap<string, readonly ICluster[]> = new Map();
}

function rethrowUnlessGone(reason: unknown): void {
  if (asApiError(reason).code !== 'not_found') {
    throw reason;
  }
}
