/** What is known of a thing, each fact with its name. Pure. */

import { TranslationBundle } from '@jupyterlab/translation';

import { ICluster, IOrder, IWorkload } from './api';
import { endText, isOutcomeUnknown, mayCost, overdueDelete, serverNow } from './certainty';
import { extent, gpus, nodes, phaseOf, price, spent } from './format';
import { shownPhase } from './text';
import { IView } from './tokens';
import { clusterKey, orderKey, workloadKey } from './tree';

export type Known = ICluster | IWorkload | IOrder;

export type Fact = readonly [term: string, text: string];

export function isOrder(thing: Known): thing is IOrder {
  return 'verb' in thing;
}

export function keyOf(thing: Known): string {
  if (isOrder(thing)) {
    return orderKey(thing);
  }
  return 'workload_id' in thing ? workloadKey(thing) : clusterKey(thing);
}

export function titleOf(thing: Known, trans: TranslationBundle): string {
  return isOrder(thing)
    ? trans.__('Order: %1 %2/%3', thing.verb, thing.account, thing.name)
    : thing.full_name;
}

/** Facts without a text are left out. */
export function factsOf(
  thing: Known,
  view: IView,
  nowMs: number,
  trans: TranslationBundle
): Fact[] {
  const all = isOrder(thing)
    ? ofOrder(thing, trans)
    : 'workload_id' in thing
      ? ofWorkload(thing, trans)
      : ofCluster(thing, view, serverNow(view, nowMs), trans);
  return all.filter(([, text]) => text !== '');
}

function ofCluster(cluster: ICluster, view: IView, atMs: number, trans: TranslationBundle): Fact[] {
  const [, phase] = shownPhase(cluster, view, atMs, trans);
  const overdue = view.state && overdueDelete(cluster, view.state, atMs);
  const size = [nodes(cluster.node_count, trans), gpus(cluster)].filter(Boolean).join(', ');
  const end = endText(cluster, atMs, trans);
  return [
    [trans.__('State'), phase],
    [trans.__("The provider's word"), cluster.provider_state ?? ''],
    [trans.__('Reason'), cluster.reason ?? ''],
    [trans.__('Account'), cluster.account],
    [trans.__('Id'), cluster.cluster_id],
    [trans.__('Size'), size],
    [trans.__('Price'), price(cluster, trans)],
    [trans.__('Cost so far (estimate)'), spent(cluster, trans)],
    [trans.__('Region'), cluster.region ?? ''],
    [trans.__('Log in at'), cluster.login_address ?? ''],
    [trans.__('Created'), time(cluster.created_at)],
    [trans.__('Ends'), [time(cluster.ends_at), end].filter(Boolean).join(', ')],
    [trans.__('Vanished'), time(cluster.vanished_at)],
    [trans.__('Asked to go'), time(overdue?.created_at ?? null)],
    [trans.__('Created here'), cluster.created_here ? trans.__('yes') : trans.__('no')]
  ];
}

function ofWorkload(workload: IWorkload, trans: TranslationBundle): Fact[] {
  return [
    [trans.__('State'), phaseOf(workload, trans)],
    [trans.__("The provider's word"), workload.provider_state ?? ''],
    [trans.__('Reason'), workload.reason ?? ''],
    [trans.__('Account'), workload.account],
    [trans.__('Id'), workload.workload_id],
    [trans.__('Size'), extent(workload, trans)],
    [trans.__('Command'), workload.command.join(' ')],
    [trans.__('Submitted'), time(workload.submitted_at)],
    [trans.__('Started'), time(workload.started_at)],
    [trans.__('Finished'), time(workload.finished_at)],
    [trans.__('Exit code'), workload.exit_code === null ? '' : String(workload.exit_code)]
  ];
}

function ofOrder(order: IOrder, trans: TranslationBundle): Fact[] {
  const outcome = isOutcomeUnknown(order) ? trans.__('outcome unknown') : trans.__('being sent');
  return [
    [trans.__('State'), outcome],
    [trans.__('What is known'), order.note ?? ''],
    [trans.__('Account'), order.account],
    [trans.__('Id'), order.order_id],
    [trans.__('Sent'), time(order.created_at)],
    [trans.__('Price'), mayCost(order.price_per_hour, trans)],
    [trans.__("The provider's name for it"), order.remote_name],
    [trans.__('About'), order.target_id ?? ''],
    [trans.__('Delete as soon as it shows'), order.on_sight ? trans.__('yes') : trans.__('no')]
  ];
}

function time(text: string | null): string {
  return text ? new Date(text).toLocaleString() : '';
}
