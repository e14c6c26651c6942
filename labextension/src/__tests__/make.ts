/** Things to test with. */

import { Event } from '@jupyterlab/services';
import { Signal, Stream } from '@lumino/signaling';

import {
  EVENT_SCHEMA,
  IAccount,
  ICluster,
  IHealth,
  IOrder,
  IState,
  IWorkload,
  SCHEMA_VERSION
} from '../api';
import { IClustersModel, IView } from '../tokens';
import { version } from '../../../package.json';

export const NOW = '2026-11-30T12:00:00Z';

export function account(change: Partial<IAccount> = {}): IAccount {
  return {
    account: 'local',
    provider: 'local',
    title: 'This machine',
    can: ['create', 'delete', 'workloads'],
    why_not: {},
    observed_at: NOW,
    age_s: 1,
    is_complete: true,
    not_seen: [],
    error: null,
    ...change
  };
}

export function cluster(name: string, change: Partial<ICluster> = {}): ICluster {
  const owner = change.account ?? 'local';
  return {
    provider: 'local',
    account: owner,
    cluster_id: `id-${name}`,
    name,
    full_name: `${owner}/${name}`,
    phase: 'running',
    provider_state: null,
    node_count: 2,
    gpu_type: null,
    gpus_per_node: 0,
    price_per_hour: null,
    is_free: true,
    billing: 'no',
    region: null,
    created_at: NOW,
    ends_at: null,
    login_address: null,
    vanished_at: null,
    order_id: null,
    created_here: true,
    reason: null,
    ...change
  };
}

export function workload(on: ICluster, name: string, change: Partial<IWorkload> = {}): IWorkload {
  return {
    provider: on.provider,
    account: on.account,
    cluster_id: on.cluster_id,
    cluster_name: on.name,
    workload_id: `w-${name}`,
    name,
    full_name: `${on.full_name}/${name}`,
    phase: 'running',
    provider_state: null,
    command: ['python', 'train.py'],
    nodes: 2,
    procs_per_node: 2,
    submitted_at: NOW,
    started_at: NOW,
    finished_at: null,
    exit_code: null,
    first_failed_rank: null,
    reason: null,
    ...change
  };
}

export function order(name: string, change: Partial<IOrder> = {}): IOrder {
  return {
    order_id: `o-${name}`,
    verb: 'create',
    account: 'local',
    name,
    remote_name: `${name}-1f0ak3j2hq`,
    state: 'not_seen',
    note: 'The provider does not show it; it may still appear.',
    created_at: '2026-11-30T11:50:00Z',
    target_id: null,
    price_per_hour: { amount: '6', currency: 'USD' },
    on_sight: false,
    ...change
  };
}

export function state(change: Partial<IState> = {}): IState {
  return {
    stream: 'one',
    seq: 1,
    now: NOW,
    accounts: [account()],
    clusters: [],
    workloads: [],
    orders: [],
    notices: [],
    ...change
  };
}

/** In the future of our clock: what came then does not age while a test runs. */
const LATER_MS = 1e12;

export function view(of: IState | null, change: Partial<IView> = {}): IView {
  return {
    status: of ? 'ready' : 'loading',
    state: of,
    receivedAt: LATER_MS,
    failure: null,
    otherVersion: null,
    ...change
  };
}

export const HEALTH: IHealth = { version, schema_version: SCHEMA_VERSION };

/** The page's end of the event bus, with a way to say what came in. */
export class Bus {
  readonly stream = new Stream<Event.IManager, Event.Emission>(this as unknown as Event.IManager);

  emit(stream: string, seq: number, topic = 'changed', schema = EVENT_SCHEMA): void {
    this.stream.emit({ schema_id: schema, stream, seq, topic, kind: null, id: null, phase: null });
  }
}

export async function until(isTrue: () => boolean, withinMs = 10_000): Promise<void> {
  const end = Date.now() + withinMs;
  while (!isTrue()) {
    if (Date.now() > end) {
      throw new Error(`still not so after ${withinMs} ms: ${isTrue.toString()}`);
    }
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}

/** A model that shows what a test tells it to. */
export class ToldModel implements IClustersModel {
  constructor(public view: IView) {}

  readonly changed = new Signal<this, IView>(this);
  isWatched = false;
  isFollowed = false;
  isDisposed = false;
  refreshes = 0;

  show(next: IView): void {
    this.view = next;
    this.changed.emit(next);
  }

  refresh(): Promise<void> {
    this.refreshes++;
    return Promise.resolve();
  }

  dispose(): void {
    this.isDisposed = true;
  }
}
