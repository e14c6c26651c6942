/** What is not certain, and what ends when, as far as the list tells it. Pure. */

import { TranslationBundle } from '@jupyterlab/translation';

import { ICluster, IMoney, IOrder, IState } from './api';
import { duration, money } from './format';
import { IView } from './tokens';

/** A delete that is not confirmed after so long is warned about. */
export const DELETE_TAKES_MS = 15 * 60_000;

/** The word of the server part where nobody would keep an end time. */
const NO_END = 'NO END TIME';

/** The server's clock now, in ms; ages are measured on it, whatever the clock of this machine says. */
export function serverNow(view: IView, nowMs: number): number {
  return view.state ? Date.parse(view.state.now) + nowMs - view.receivedAt : Number.NaN;
}

/** Whether nobody sends an order any more and nobody knows what became of it. */
export function isOutcomeUnknown({ verb, state, note }: IOrder): boolean {
  return verb !== 'delete' && (state === 'not_seen' || (state === 'open' && note !== null));
}

/** The wish to delete a cluster that has not been confirmed for too long, if there is one. */
export function overdueDelete(cluster: ICluster, state: IState, atMs: number): IOrder | null {
  const isOverdue = (order: IOrder) =>
    order.verb === 'delete' &&
    order.account === cluster.account &&
    order.target_id === cluster.cluster_id &&
    atMs - Date.parse(order.created_at) >= DELETE_TAKES_MS;
  return state.orders.find(isOverdue) ?? null;
}

/** Whether a cluster was to end by itself and nobody is there to end it. */
export function hasNoEnd({ reason }: ICluster): boolean {
  return reason?.includes(NO_END) ?? false;
}

/** When a cluster ends, in words; nothing where no end was told. */
export function endText(cluster: ICluster, atMs: number, trans: TranslationBundle): string {
  if (hasNoEnd(cluster)) {
    return trans.__('NO END TIME');
  }
  if (cluster.ends_at === null) {
    return '';
  }
  const seconds = (Date.parse(cluster.ends_at) - atMs) / 1000;
  return seconds >= 0
    ? trans.__('ends in %1', duration(seconds, trans))
    : trans.__('was to end %1 ago', duration(-seconds, trans));
}

/** What something may cost. No price is an unknown price. */
export function mayCost(price: IMoney | null, trans: TranslationBundle): string {
  return price !== null && Number(price.amount) > 0
    ? trans.__('may cost %1/h', money(price))
    : trans.__('price unknown');
}

/** The cluster that an order made, as far as it is known and not gone. */
export function madeBy({ order_id: id }: Pick<IOrder, 'order_id'>, state: IState | null) {
  return state?.clusters.find(({ order_id, phase }) => order_id === id && phase !== 'deleted');
}

/** What can be done about an order. */
export type Offer = 'check' | 'adopt' | 'delete' | 'close';

/**
 * What a row offers for an order.
 *
 * @param candidates - how many things were found that may be what it made
 */
export function offersOf(order: IOrder, candidates: number): Offer[] {
  const isCreate = order.verb === 'create';
  return [
    'check',
    ...(isCreate && candidates > 0 ? (['adopt'] as const) : []),
    ...(isCreate && !order.on_sight ? (['delete'] as const) : []),
    'close'
  ];
}
