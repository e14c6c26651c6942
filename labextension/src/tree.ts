/** The rows of the sidebar: accounts, their clusters, and the workloads of these. Pure. */

import { IAccount, ICluster, IOrder, IState, IWorkload } from './api';
import { hasEnded } from './format';

interface IRowBase {
  /** The same after every refresh. */
  readonly key: string;
  readonly name: string;
  /** 1 for accounts. */
  readonly level: number;
  /** Where it stands among its siblings, from 1, and how many these are. */
  readonly position: number;
  readonly setSize: number;
  readonly parent: string | null;
  /** `null`: there is nothing below it. */
  readonly isExpanded: boolean | null;
  readonly account: IAccount;
}

export interface IAccountRow extends IRowBase {
  readonly kind: 'account';
}

export interface IClusterRow extends IRowBase {
  readonly kind: 'cluster';
  readonly cluster: ICluster;
}

export interface IWorkloadRow extends IRowBase {
  readonly kind: 'workload';
  readonly workload: IWorkload;
}

export interface IOrderRow extends IRowBase {
  readonly kind: 'order';
  readonly order: IOrder;
}

export type Row = IAccountRow | IClusterRow | IWorkloadRow | IOrderRow;

export interface ITreeOptions {
  /** Keys of rows whose children are hidden. */
  readonly collapsed: ReadonlySet<string>;
  readonly showFinished: boolean;
}

export function accountKey(account: string): string {
  return encodeURIComponent(account);
}

export function clusterKey(cluster: Pick<ICluster, 'account' | 'cluster_id'>): string {
  return `${accountKey(cluster.account)}/${encodeURIComponent(cluster.cluster_id)}`;
}

export function workloadKey(
  workload: Pick<IWorkload, 'account' | 'cluster_id' | 'workload_id'>
): string {
  return `${clusterKey(workload)}/${encodeURIComponent(workload.workload_id)}`;
}

export function buildRows(state: IState, options: ITreeOptions): Row[] {
  const shown = state.workloads.filter(({ phase }) => options.showFinished || !hasEnded(phase));
  const groups: IGroups = {
    clusters: groupBy(state.clusters, cluster => accountKey(cluster.account)),
    workloads: groupBy(shown, clusterKey),
    orders: groupBy(state.orders.filter(isOnItsOwn), order => accountKey(order.account))
  };
  return state.accounts.flatMap((account, index) =>
    accountRows(
      { account, parent: null, position: index + 1, setSize: state.accounts.length },
      groups,
      options.collapsed
    )
  );
}

interface IGroups {
  readonly clusters: ReadonlyMap<string, ICluster[]>;
  readonly workloads: ReadonlyMap<string, IWorkload[]>;
  readonly orders: ReadonlyMap<string, IOrder[]>;
}

type Place = Pick<IRowBase, 'account' | 'parent' | 'position' | 'setSize'>;

function accountRows(place: Place, groups: IGroups, collapsed: ReadonlySet<string>): Row[] {
  const { account } = place;
  const key = accountKey(account.account);
  const clusters = [...(groups.clusters.get(key) ?? [])].sort(byName);
  const orders = groups.orders.get(key) ?? [];
  const setSize = clusters.length + orders.length;
  const isExpanded = setSize > 0 ? !collapsed.has(key) : null;
  const head: Row = { ...place, kind: 'account', key, name: account.account, level: 1, isExpanded };
  if (!isExpanded) {
    return [head];
  }
  const at = (position: number): Place => ({ account, parent: key, position, setSize });
  return [
    head,
    ...orders.map((order, i) => orderRow(order, at(i + 1))),
    ...clusters.flatMap((cluster, i) =>
      clusterRows(cluster, at(orders.length + i + 1), groups, collapsed)
    )
  ];
}

export function orderKey({ account, order_id: id }: Pick<IOrder, 'account' | 'order_id'>): string {
  return `${accountKey(account)}/order:${encodeURIComponent(id)}`;
}

function orderRow(order: IOrder, place: Place): IOrderRow {
  const key = orderKey(order);
  return { ...place, kind: 'order', key, name: order.name, order, level: 2, isExpanded: null };
}

function clusterRows(
  cluster: ICluster,
  place: Place,
  groups: IGroups,
  collapsed: ReadonlySet<string>
): Row[] {
  const key = clusterKey(cluster);
  const workloads = [...(groups.workloads.get(key) ?? [])].sort(newestFirst);
  const isExpanded = workloads.length > 0 ? !collapsed.has(key) : null;
  const head: Row = {
    ...place,
    kind: 'cluster',
    key,
    name: cluster.name,
    cluster,
    level: 2,
    isExpanded
  };
  if (!isExpanded) {
    return [head];
  }
  const below = workloads.map((workload, index): IWorkloadRow => ({
    kind: 'workload',
    key: workloadKey(workload),
    name: workload.name,
    workload,
    level: 3,
    account: place.account,
    parent: key,
    position: index + 1,
    setSize: workloads.length,
    isExpanded: null
  }));
  return [head, ...below];
}

/** A delete under way shows in the phase of its cluster. */
function isOnItsOwn(order: IOrder): boolean {
  return order.verb !== 'delete';
}

function byName(one: ICluster, other: ICluster): number {
  return one.name.localeCompare(other.name, undefined, { numeric: true });
}

/** Times are ISO text in UTC, so text order is time order; those without a time come first. */
function newestFirst(one: IWorkload, other: IWorkload): number {
  const [a, b] = [one.submitted_at ?? '~', other.submitted_at ?? '~'];
  return a < b ? 1 : a > b ? -1 : 0;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) {
      group.push(item);
    } else {
      groups.set(key, [item]);
    }
  }
  return groups;
}
