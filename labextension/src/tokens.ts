/** What other extensions may use. */

import { Token } from '@lumino/coreutils';
import { IDisposable } from '@lumino/disposable';
import { ISignal } from '@lumino/signaling';

import { IState } from './api';

/**
 * How the last look at our server went.
 *
 * - `loading`: there has been none yet;
 * - `ready`: `state` is what it said;
 * - `failed`: it went wrong; `state` is the last good one, if there is one;
 * - `missing`: the Jupyter server has no part of ours.
 */
export type ViewStatus = 'loading' | 'ready' | 'failed' | 'missing';

/** Everything a view shows, at one moment. */
export interface IView {
  readonly status: ViewStatus;
  readonly state: IState | null;
  /** Our monotonic clock (ms) when `state` came. */
  readonly receivedAt: number;
  /** Why the last look failed. */
  readonly failure: { readonly message: string; readonly hint: string | null } | null;
  /** Version of the server part where it does not fit this page. */
  readonly otherVersion: string | null;
}

export interface IClustersModel extends IDisposable {
  readonly view: IView;
  readonly changed: ISignal<IClustersModel, IView>;
  /** Whether somebody is looking. While nobody is, nothing is fetched by time. */
  isWatched: boolean;
  /** Whether the list is fetched, although nobody is looking at it, when the server says that something changed. */
  isFollowed: boolean;
  /** Fetch the list now; calls that come while it is being fetched share one more fetch. */
  refresh(): Promise<void>;
}

export const IClustersModel = new Token<IClustersModel>(
  'jupyter-gpu-clusters:IClustersModel',
  'The clusters and workloads of all accounts, kept up to date while somebody looks.'
);
