/** What a user should be told although nobody looks at the list. Pure. */

import { TranslationBundle } from '@jupyterlab/translation';

import { ICluster, IState } from './api';
import { hasNoEnd, isOutcomeUnknown, overdueDelete, DELETE_TAKES_MS } from './certainty';
import { duration } from './format';
import { clusterKey, orderKey } from './tree';

/** So long before a cluster ends, it is told. */
export const EXPIRES_SOON_MS = 15 * 60_000;

export interface IHappening {
  /** The same in every tab, and another for what happens another time. */
  readonly key: string;
  readonly type: 'success' | 'warning' | 'error';
  readonly text: string;
  /** The row that it is about. */
  readonly row: string | null;
}

/**
 * What is to be told of a list. What goes on, such as an unknown outcome, is in here every time.
 *
 * @param before - the list before, if there was one: whether a cluster has become ready shows only by comparison
 * @param atMs - the server's clock
 */
export function happenings(
  before: IState | null,
  after: IState,
  atMs: number,
  trans: TranslationBundle
): IHappening[] {
  const known = new Map(before?.clusters.map(cluster => [clusterKey(cluster), cluster]));
  return [
    ...after.clusters.flatMap(cluster => [
      ...turns(known.get(clusterKey(cluster)), cluster, trans),
      ...lasting(cluster, after, atMs, trans)
    ]),
    ...unknownOutcomes(after, trans),
    ...after.notices.map((text): IHappening => ({
      key: `notice ${text}`,
      type: 'warning',
      text,
      row: null
    }))
  ];
}

/** Keys of what is over, so that it is told again when it happens again. */
export function overBy(before: IState | null, after: IState): string[] {
  const failed = before?.clusters.filter(({ phase }) => phase === 'failed').map(failedKey) ?? [];
  const well = after.clusters.filter(({ phase }) => phase !== 'failed').map(failedKey);
  return failed.length > 0 ? well.filter(key => failed.includes(key)) : [];
}

/** In how many ms time alone makes something happen; `null` if nothing is in sight. */
export function untilNext(state: IState, atMs: number): number | null {
  const ends = state.clusters.flatMap(({ ends_at: end }) =>
    end === null ? [] : [Date.parse(end) - EXPIRES_SOON_MS]
  );
  const deletes = state.orders.flatMap(({ verb, created_at: since }) =>
    verb === 'delete' ? [Date.parse(since) + DELETE_TAKES_MS] : []
  );
  const waits = [...ends, ...deletes].map(at => at - atMs).filter(wait => wait > 0);
  return waits.length > 0 ? Math.min(...waits) : null;
}

function failedKey(cluster: ICluster): string {
  return `failed ${clusterKey(cluster)}`;
}

function* turns(
  before: ICluster | undefined,
  cluster: ICluster,
  trans: TranslationBundle
): Generator<IHappening> {
  const { full_name: name, phase, reason } = cluster;
  const row = clusterKey(cluster);
  if (!before || !cluster.created_here) {
    return;
  }
  if (before.phase === 'creating' && phase === 'running') {
    yield { key: `ready ${row}`, type: 'success', text: trans.__('%1 is ready.', name), row };
  }
  if (before.phase !== 'failed' && phase === 'failed') {
    const text = trans.__('%1 failed. %2', name, reason ?? '').trim();
    yield { key: failedKey(cluster), type: 'error', text, row };
  }
}

function* lasting(
  cluster: ICluster,
  state: IState,
  atMs: number,
  trans: TranslationBundle
): Generator<IHappening> {
  const { full_name: name, reason, vanished_at: vanishedAt } = cluster;
  const row = clusterKey(cluster);
  const type = 'warning';
  if (vanishedAt !== null) {
    const text = trans.__(
      '%1 vanished without a delete from here; whether it still bills is not known.',
      name
    );
    yield { key: `vanished ${row} ${vanishedAt}`, type, text, row };
  }
  const wish = overdueDelete(cluster, state, atMs);
  if (wish) {
    const text = trans.__('%1 is still not confirmed gone. %2', name, reason ?? '').trim();
    yield { key: `unconfirmed ${wish.order_id}`, type, text, row };
  }
  const left = leftMs(cluster, atMs);
  if (left !== null && left <= EXPIRES_SOON_MS) {
    const text = trans.__('%1 is deleted in %2.', name, duration(left / 1000, trans));
    yield { key: `expires ${row} ${cluster.ends_at?.slice(0, 16) ?? ''}`, type, text, row };
  }
}

/** How long a cluster that ends by itself has left; `null` where it does not, or is going already. */
function leftMs(cluster: ICluster, atMs: number): number | null {
  const isGoing = cluster.phase === 'deleting' || cluster.phase === 'deleted';
  if (cluster.ends_at === null || isGoing || hasNoEnd(cluster)) {
    return null;
  }
  const left = Date.parse(cluster.ends_at) - atMs;
  return left > 0 ? left : null;
}

function unknownOutcomes({ orders }: IState, trans: TranslationBundle): IHappening[] {
  return orders.filter(isOutcomeUnknown).map(order => ({
    key: `unknown ${order.order_id}`,
    type: 'warning',
    text: trans.__(
      'It is not known whether the %1 of “%2” happened. Look before you send it again.',
      order.verb,
      order.name
    ),
    row: orderKey(order)
  }));
}
