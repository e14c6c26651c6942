/**
 * Every URL of our server part and the shape of every answer. Nothing else in the front end knows them.
 */

import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

/** Version of the answers below; the server part says in `health` which one it speaks. */
export const SCHEMA_VERSION = 1;

/** Schema of our events on Jupyter's event bus. */
export const EVENT_SCHEMA = 'https://jupyter-gpu-clusters.invalid/state/v1';

/** How much of a log is shown at first, per rank. */
export const TAIL_LINES = 500;

const ROOT = 'gpu-clusters';
const READ_TIMEOUT_MS = 30_000;
const WRITE_TIMEOUT_MS = 120_000;

/** Timers must not keep an idle server alive. */
const NOT_A_USER = { no_track_activity: '1' };

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
  created_here: boolean;
  reason: string | null;
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
  state: 'open' | 'not_seen';
  note: string | null;
  created_at: string;
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

export type ClusterRef = Pick<ICluster, 'account' | 'cluster_id'>;
export type WorkloadRef = Pick<IWorkload, 'account' | 'cluster_id' | 'workload_id'>;

/** A "no" from the server, or no usable answer at all (`status` 0). */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code = 'transport',
    readonly hint: string | null = null
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

/** Whatever was thrown, as an {@link ApiError}. */
export function asApiError(reason: unknown): ApiError {
  if (reason instanceof ApiError) {
    return reason;
  }
  return new ApiError(reason instanceof Error ? reason.message : String(reason), 0);
}

/** The requests the front end can make; all reject with {@link ApiError} and all end within a bound. */
export interface IApi {
  health(): Promise<IHealth>;
  state(): Promise<IState>;
  deleteCluster(cluster: ClusterRef): Promise<IDeleted>;
  cancelWorkload(workload: WorkloadRef): Promise<ICancelled>;
  /** What follows `offsets`; for `null` the last {@link TAIL_LINES} lines of every rank. */
  logs(workload: WorkloadRef, offsets: LogOffsets | null): Promise<ILogs>;
}

export class Api implements IApi {
  constructor(settings: ServerConnection.ISettings) {
    this._settings = settings;
  }

  health(): Promise<IHealth> {
    return this._request('GET', ['health'], NOT_A_USER) as Promise<IHealth>;
  }

  state(): Promise<IState> {
    return this._request('GET', ['state'], NOT_A_USER) as Promise<IState>;
  }

  deleteCluster(cluster: ClusterRef): Promise<IDeleted> {
    return this._request('DELETE', [
      'clusters',
      cluster.account,
      cluster.cluster_id
    ]) as Promise<IDeleted>;
  }

  cancelWorkload(workload: WorkloadRef): Promise<ICancelled> {
    return this._request('POST', [...workloadPath(workload), 'cancel']) as Promise<ICancelled>;
  }

  logs(workload: WorkloadRef, offsets: LogOffsets | null): Promise<ILogs> {
    const start: Record<string, string> = offsets
      ? { offsets: JSON.stringify(offsets) }
      : { tail: String(TAIL_LINES) };
    return this._request('GET', [...workloadPath(workload), 'logs'], {
      ...start,
      ...NOT_A_USER
    }) as Promise<ILogs>;
  }

  private async _request(
    method: 'GET' | 'POST' | 'DELETE',
    path: string[],
    query: Record<string, string> = {}
  ): Promise<unknown> {
    const url =
      URLExt.join(this._settings.baseUrl, ROOT, ...path.map(encodeURIComponent)) +
      URLExt.objectToQueryString(query);
    const limit = method === 'GET' ? READ_TIMEOUT_MS : WRITE_TIMEOUT_MS;
    const body = await withTimeout(limit, async signal => {
      const response = await ServerConnection.makeRequest(url, { method, signal }, this._settings);
      return { status: response.status, text: await response.text() };
    });
    return parseBody(body.status, body.text);
  }

  private readonly _settings: ServerConnection.ISettings;
}

function workloadPath(workload: WorkloadRef): string[] {
  return ['workloads', workload.account, workload.cluster_id, workload.workload_id];
}

async function withTimeout<T>(
  limitMs: number,
  work: (signal: AbortSignal) => Promise<T>
): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), limitMs);
  try {
    return await work(controller.signal);
  } catch (reason) {
    const why = controller.signal.aborted
      ? `no answer within ${limitMs / 1000} s`
      : reason instanceof Error
        ? reason.message
        : String(reason);
    throw new ApiError(`The Jupyter server could not be reached: ${why}`, 0);
  } finally {
    clearTimeout(timer);
  }
}

function parseBody(status: number, text: string): unknown {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new ApiError(
      `The Jupyter server answered ${status} with something other than JSON.`,
      status
    );
  }
  if (status >= 200 && status < 300) {
    return body;
  }
  const error = (typeof body === 'object' && body !== null ? body : {}) as IErrorBody;
  const fields = (error.fields ?? []).map(({ field, text: problem }) => `${field}: ${problem}`);
  const message = [error.message ?? `The Jupyter server answered ${status}.`, ...fields].join('\n');
  throw new ApiError(message, status, error.code, error.hint);
}

interface IErrorBody {
  message?: string;
  code?: string;
  hint?: string | null;
  fields?: { field: string; text: string }[];
}
