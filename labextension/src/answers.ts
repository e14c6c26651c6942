/** The shape of what the server says about accounts, clusters, workloads and logs. */

export type ClusterPhase =
  | 'creating'
  | 'running'
  | 'degraded'
  | 'stopping'
  | 'stopped'
  | 'deleting'
  | 'deleted'
  | 'failed'
  | 'unknown';

export type WorkloadPhase =
  'pending' | 'running' | 'stopping' | 'stopped' | 'succeeded' | 'failed' | 'cancelled' | 'unknown';

/** An amount; decimal digits as text, so that none is lost. */
export interface IMoney {
  amount: string;
  currency: string;
}

export interface IFailure {
  message: string;
  hint: string | null;
  code: string;
}

export interface IAccount {
  account: string;
  provider: string;
  title: string;
  can: string[];
  why_not: Record<string, string>;
  observed_at: string | null;
  age_s: number | null;
  is_complete: boolean;
  not_seen: string[];
  error: IFailure | null;
}

export interface ICluster {
  provider: string;
  account: string;
  cluster_id: string;
  name: string;
  full_name: string;
  phase: ClusterPhase;
  provider_state: string | null;
  node_count: number;
  gpu_type: string | null;
  gpus_per_node: number;
  price_per_hour: IMoney | null;
  is_free: boolean;
  billing: 'yes' | 'no' | 'unknown';
  region: string | null;
  created_at: string | null;
  ends_at: string | null;
  login_address: string | null;
  /** Since when complete listings lack it, although nobody here deleted it. */
  vanished_at: string | null;
  created_here: boolean;
  /** The order that made it, where it was made from here. */
  order_id: string | null;
  reason: string | null;
  /** An estimate of what it has cost, for each currency; only in the state of everything. */
  spent?: ISpent[];
}

/** `currency` is missing for hours of an unknown price; `amount_high` has what may have been billed as well. */
export interface ISpent {
  currency: string | null;
  amount: string | null;
  amount_high: string | null;
}

export interface IWorkload {
  provider: string;
  account: string;
  cluster_id: string;
  cluster_name: string;
  workload_id: string;
  name: string;
  full_name: string;
  phase: WorkloadPhase;
  provider_state: string | null;
  command: string[];
  nodes: number;
  procs_per_node: number | null;
  submitted_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  exit_code: number | null;
  first_failed_rank: number | null;
  reason: string | null;
}

/** A write that was started and whose outcome nobody knows yet. */
export interface IOrder {
  order_id: string;
  verb: string;
  account: string;
  name: string;
  /** What the far side was told, perhaps with the order's mark. */
  remote_name: string;
  state: 'open' | 'not_seen' | 'done' | 'refused' | 'closed';
  note: string | null;
  created_at: string;
  /** The cluster or workload that it is about, where that was there before. */
  target_id: string | null;
  /** What may be paid for it. */
  price_per_hour: IMoney | null;
  /** What it made is to be deleted as soon as it shows. */
  on_sight: boolean;
}

/** One thing whose outcome or end is not certain, after looking for it. */
export interface IRecovered {
  kind: 'open' | 'not seen' | 'deleting' | 'vanished' | 'settled';
  account: string;
  name: string;
  since: string;
  note: string;
  order: IOrder;
  cluster: ICluster | null;
  price_per_hour: IMoney | null;
  /** May be what the order made, but nothing on them proves it. */
  candidates: ICluster[];
}

/** Something that may cost and was not ordered from here, or an order with nothing behind it. */
export interface IOrphan {
  account: string;
  name: string;
  /** The id of a cluster or of an order. */
  ref: string;
  why: string;
  next_step: string;
  since: string | null;
  price_per_hour: IMoney | null;
  is_free: boolean;
}

export interface IOrphans {
  items: IOrphan[];
  not_seen: string[];
}

export interface IState {
  stream: string;
  seq: number;
  now: string;
  accounts: IAccount[];
  clusters: ICluster[];
  workloads: IWorkload[];
  orders: IOrder[];
  /** What everybody should know, for example that a damaged journal was set aside. */
  notices: string[];
}

export interface IHealth {
  version: string;
  schema_version: number;
}

export interface IDeleted {
  cluster: ICluster;
  is_gone: boolean;
  note: string | null;
}

export interface ICancelled {
  workload: IWorkload;
  left_over: string[];
}

export interface ILogChunk {
  rank: number;
  offset: number;
  end: number;
  text: string;
}

/** Rank (as text, since JSON has no other keys) to the byte to go on from. */
export type LogOffsets = Record<string, number>;

export interface ILogs {
  chunks: ILogChunk[];
  offsets: LogOffsets;
  has_more: boolean;
  phase: WorkloadPhase;
  is_final: boolean;
}

export type OrderRef = Pick<IOrder, 'order_id'>;
export type ClusterRef = Pick<ICluster, 'account' | 'cluster_id'>;
export type WorkloadRef = Pick<IWorkload, 'account' | 'cluster_id' | 'workload_id'>;
