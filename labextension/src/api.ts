/**
 * Every URL of our server part and the shape of every answer. Nothing else in the front end knows them.
 */

import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { ReadonlyJSONObject } from '@lumino/coreutils';

import {
  ICluster,
  IOrder,
  IOrphans,
  IRecovered,
  IWorkload,
  IState,
  IHealth,
  IDeleted,
  ICancelled,
  LogOffsets,
  ILogs,
  ClusterRef,
  OrderRef,
  WorkloadRef
} from './answers';
import {
  IActions,
  IAgreement,
  IChoices,
  IDetails,
  IForm,
  IPlanned,
  ISent,
  Thing,
  Wish
} from './forms/answers';

export * from './answers';

/** Version of the answers; the server part says in `health` which one it speaks. */
export const SCHEMA_VERSION = 1;

/** Schema of our events on Jupyter's event bus. */
export const EVENT_SCHEMA = 'https://jupyter-gpu-clusters.invalid/state/v1';

/** How much of a log is shown at first, per rank. */
export const TAIL_LINES = 500;

const ROOT = 'gpu-clusters';
const READ_TIMEOUT_MS = 30_000;
/** For what asks every provider before it answers. */
const LOOK_TIMEOUT_MS = 120_000;
const WRITE_TIMEOUT_MS = 120_000;

/** The code of requests that were ended by their own caller. */
export const ABORTED = 'aborted';

/** Timers must not keep an idle server alive. */
const NOT_A_USER = { no_track_activity: '1' };

/** One thing that is wrong with one field of what was sent; `field` is a dotted path, or empty. */
export interface IProblem {
  field: string;
  text: string;
}

/** A "no" from the server, or no usable answer at all (`status` 0). */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code = 'transport',
    readonly hint: string | null = null,
    readonly problems: readonly IProblem[] = []
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

/** An error as a person reads it: what happened, the single problems, what to do next. */
export function linesOf({ message, problems, hint }: ApiError): string[] {
  const listed = problems.map(({ field, text }) => (field ? `${field}: ${text}` : text));
  return [message, ...listed, ...(hint ? [hint] : [])];
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
  /** Look now for everything that is not certain. */
  recover(): Promise<{ recovered: IRecovered[] }>;
  /** Look now for what was not ordered from here. */
  orphans(signal: AbortSignal): Promise<IOrphans>;
  closeOrder(order: OrderRef, statement: string): Promise<{ order: IOrder }>;
  /** What the order made is to be deleted as soon as it shows. */
  deleteOnSight(order: OrderRef): Promise<{ order: IOrder }>;
  /** Take a listed cluster for what the order made. */
  adopt(order: OrderRef, clusterId: string): Promise<{ cluster: ICluster }>;
  closeVanished(cluster: ClusterRef, statement: string): Promise<{ cluster: ICluster }>;
  cancelWorkload(workload: WorkloadRef): Promise<ICancelled>;
  /** What follows `offsets`; for `null` the last {@link TAIL_LINES} lines of every rank. */
  logs(workload: WorkloadRef, offsets: LogOffsets | null): Promise<ILogs>;
  suspend(workload: WorkloadRef): Promise<{ workload: IWorkload }>;
  resume(workload: WorkloadRef): Promise<{ workload: IWorkload }>;
  /** What can be asked for in a new cluster. */
  accountForm(account: string): Promise<IForm>;
  /** What can be asked for in a workload on this cluster. */
  clusterForm(cluster: ClusterRef): Promise<IForm>;
  actions(cluster: ClusterRef): Promise<IActions>;
  choices(
    account: string,
    lookUp: string,
    given: ReadonlyJSONObject,
    signal: AbortSignal
  ): Promise<IChoices>;
  /** What would happen; never spends. */
  plan(wish: Wish, signal: AbortSignal): Promise<IPlanned>;
  /** Send a plan; the server sends it once, however often it is asked to. */
  send(planId: string, agreement: IAgreement): Promise<ISent>;
  /** Kind to title of the provider's own tables about a cluster or workload. */
  detailKinds(thing: Thing): Promise<{ kinds: Record<string, string> }>;
  details(thing: Thing, kind: string, signal: AbortSignal): Promise<IDetails>;
}

export class Api implements IApi {
  constructor(settings: ServerConnection.ISettings) {
    this._settings = settings;
  }

  health(): Promise<IHealth> {
    return this._request('GET', ['health'], { query: NOT_A_USER }) as Promise<IHealth>;
  }

  state(): Promise<IState> {
    return this._request('GET', ['state'], { query: NOT_A_USER }) as Promise<IState>;
  }

  deleteCluster(cluster: ClusterRef): Promise<IDeleted> {
    return this._request('DELETE', clusterPath(cluster)) as Promise<IDeleted>;
  }

  recover(): Promise<{ recovered: IRecovered[] }> {
    return this._request('GET', ['recover'], { limitMs: LOOK_TIMEOUT_MS }) as Promise<{
      recovered: IRecovered[];
    }>;
  }

  orphans(signal: AbortSignal): Promise<IOrphans> {
    return this._request('GET', ['orphans'], {
      signal,
      limitMs: LOOK_TIMEOUT_MS
    }) as Promise<IOrphans>;
  }

  closeOrder({ order_id: id }: OrderRef, statement: string): Promise<{ order: IOrder }> {
    return this._request('POST', ['orders', id, 'close'], { body: { statement } }) as Promise<{
      order: IOrder;
    }>;
  }

  deleteOnSight({ order_id: id }: OrderRef): Promise<{ order: IOrder }> {
    return this._request('POST', ['orders', id, 'delete']) as Promise<{ order: IOrder }>;
  }

  adopt({ order_id: id }: OrderRef, clusterId: string): Promise<{ cluster: ICluster }> {
    const body = { cluster_id: clusterId };
    return this._request('POST', ['orders', id, 'adopt'], { body }) as Promise<{
      cluster: ICluster;
    }>;
  }

  closeVanished(cluster: ClusterRef, statement: string): Promise<{ cluster: ICluster }> {
    return this._request('POST', [...clusterPath(cluster), 'close'], {
      body: { statement }
    }) as Promise<{ cluster: ICluster }>;
  }

  cancelWorkload(workload: WorkloadRef): Promise<ICancelled> {
    return this._request('POST', [...workloadPath(workload), 'cancel']) as Promise<ICancelled>;
  }

  logs(workload: WorkloadRef, offsets: LogOffsets | null): Promise<ILogs> {
    const start: Record<string, string> = offsets
      ? { offsets: JSON.stringify(offsets) }
      : { tail: String(TAIL_LINES) };
    return this._request('GET', [...workloadPath(workload), 'logs'], {
      query: { ...start, ...NOT_A_USER }
    }) as Promise<ILogs>;
  }

  suspend(workload: WorkloadRef): Promise<{ workload: IWorkload }> {
    return this._request('POST', [...workloadPath(workload), 'suspend']) as Promise<{
      workload: IWorkload;
    }>;
  }

  resume(workload: WorkloadRef): Promise<{ workload: IWorkload }> {
    return this._request('POST', [...workloadPath(workload), 'resume']) as Promise<{
      workload: IWorkload;
    }>;
  }

  accountForm(account: string): Promise<IForm> {
    return this._request('GET', ['accounts', account, 'form']) as Promise<IForm>;
  }

  clusterForm(cluster: ClusterRef): Promise<IForm> {
    return this._request('GET', [...clusterPath(cluster), 'form']) as Promise<IForm>;
  }

  actions(cluster: ClusterRef): Promise<IActions> {
    return this._request('GET', [...clusterPath(cluster), 'actions'], {
      query: NOT_A_USER
    }) as Promise<IActions>;
  }

  choices(
    account: string,
    lookUp: string,
    given: ReadonlyJSONObject,
    signal: AbortSignal
  ): Promise<IChoices> {
    const body = { look_up: lookUp, given };
    return this._request('POST', ['accounts', account, 'choices'], {
      body,
      signal
    }) as Promise<IChoices>;
  }

  plan(wish: Wish, signal: AbortSignal): Promise<IPlanned> {
    return this._request('POST', ['plans'], { body: wish, signal }) as Promise<IPlanned>;
  }

  send(planId: string, agreement: IAgreement): Promise<ISent> {
    return this._request('POST', ['plans', planId, 'send'], { body: agreement }) as Promise<ISent>;
  }

  detailKinds(thing: Thing): Promise<{ kinds: Record<string, string> }> {
    return this._request('GET', [...thingPath(thing), 'details']) as Promise<{
      kinds: Record<string, string>;
    }>;
  }

  details(thing: Thing, kind: string, signal: AbortSignal): Promise<IDetails> {
    return this._request('GET', [...thingPath(thing), 'details', kind], {
      signal
    }) as Promise<IDetails>;
  }

  private async _request(
    method: 'GET' | 'POST' | 'DELETE',
    path: string[],
    { query = {}, body, signal, limitMs }: IRequestOptions = {}
  ): Promise<unknown> {
    const url =
      URLExt.join(this._settings.baseUrl, ROOT, ...path.map(encodeURIComponent)) +
      URLExt.objectToQueryString(query);
    const limit = limitMs ?? (method === 'GET' ? READ_TIMEOUT_MS : WRITE_TIMEOUT_MS);
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await withTimeout(limit, signal, async combined => {
      const init = { method, signal: combined, ...content };
      const response = await ServerConnection.makeRequest(url, init, this._settings);
      return { status: response.status, text: await response.text() };
    });
    return parseBody(answer.status, answer.text);
  }

  private readonly _settings: ServerConnection.ISettings;
}

interface IRequestOptions {
  query?: Record<string, string>;
  body?: object;
  /** Aborts the request when nobody waits for its answer any more. */
  signal?: AbortSignal;
  limitMs?: number;
}

function clusterPath(cluster: ClusterRef): string[] {
  return ['clusters', cluster.account, cluster.cluster_id];
}

function workloadPath(workload: WorkloadRef): string[] {
  return ['workloads', workload.account, workload.cluster_id, workload.workload_id];
}

function thingPath(thing: Thing): string[] {
  return 'workload_id' in thing ? workloadPath(thing) : clusterPath(thing);
}

async function withTimeout<T>(
  limitMs: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>
): Promise<T> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = setTimeout(abort, limitMs);
  outer?.addEventListener('abort', abort);
  try {
    outer?.throwIfAborted();
    return await work(controller.signal);
  } catch (reason) {
    if (outer?.aborted) {
      throw new ApiError('Nobody waits for this any more.', 0, ABORTED);
    }
    const why = controller.signal.aborted
      ? `no answer within ${limitMs / 1000} s`
      : reason instanceof Error
        ? reason.message
        : String(reason);
    throw new ApiError(`The Jupyter server could not be reached: ${why}`, 0);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', abort);
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
  const message = error.message ?? `The Jupyter server answered ${status}.`;
  throw new ApiError(message, status, error.code, error.hint, error.fields);
}

interface IErrorBody {
  message?: string;
  code?: string;
  hint?: string | null;
  fields?: IProblem[];
}
