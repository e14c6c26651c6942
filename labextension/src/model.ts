/** The list of clusters and workloads: fetching it, keeping it fresh, and saying when it changed. */

import { Event } from '@jupyterlab/services';
import { Poll } from '@lumino/polling';
import { ISignal, Signal } from '@lumino/signaling';

import { asApiError, EVENT_SCHEMA, IApi, SCHEMA_VERSION } from './api';
import { EventCursor } from './cursor';
import { IClustersModel, IView } from './tokens';
import { version as ourVersion } from '../../package.json';

const POLL_MS = 10_000;
const MAX_BACK_OFF_MS = 300_000;

/** Least time between two fetches that events ask for; a burst of events costs one. */
const QUIET_MS = 150;

export interface IModelOptions {
  api: IApi;
  events: Pick<Event.IManager, 'stream'>;
  /** Monotonic clock in ms. */
  now?: () => number;
}

export class ClustersModel implements IClustersModel {
  constructor(options: IModelOptions) {
    this._api = options.api;
    this._now = options.now ?? (() => performance.now());
    this._events = options.events;
    this._events.stream.connect(this._onEvent, this);
    document.addEventListener('visibilitychange', this._onVisibility);
    this._poll = new Poll({
      name: 'jupyter-gpu-clusters:model',
      auto: false,
      standby: 'when-hidden',
      frequency: { interval: POLL_MS, backoff: true, max: MAX_BACK_OFF_MS },
      factory: () => this._pollOnce()
    });
  }

  get view(): IView {
    return this._view;
  }

  get changed(): ISignal<this, IView> {
    return this._changed;
  }

  get isWatched(): boolean {
    return this._isWatched;
  }
  set isWatched(value: boolean) {
    if (value === this._isWatched || this.isDisposed) {
      return;
    }
    this._isWatched = value;
    void (value ? this._poll.refresh() : this._poll.stop());
  }

  isFollowed = false;

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  refresh(): Promise<void> {
    this._isWanted = true;
    return (this._running ??= this._run());
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this._isWatched = false;
    this._poll.dispose();
    document.removeEventListener('visibilitychange', this._onVisibility);
    Signal.clearData(this);
  }

  private _onEvent(_: unknown, event: Event.Emission): void {
    if (event.schema_id === EVENT_SCHEMA && this._cursor.take(event)) {
      this._refreshIfSeen(event.topic === 'changed');
    }
  }

  private readonly _onVisibility = () => this._refreshIfSeen(false);

  /** While nobody looks, a page that never had a list asks for one only when there is news. */
  private _refreshIfSeen(isNews: boolean): void {
    const isWanted = this._isWatched || (this.isFollowed && (isNews || this._view.state !== null));
    if (isWanted && !this._isDisposed && !document.hidden) {
      void this.refresh();
    }
  }

  private async _pollOnce(): Promise<void> {
    await this.refresh();
    if (this._view.status !== 'ready') {
      throw new Error(this._view.failure?.message ?? this._view.status);
    }
  }

  private async _run(): Promise<void> {
    try {
      do {
        this._isWanted = false;
        await this._look();
      } while (await this._isWantedAgain());
    } finally {
      this._running = null;
    }
  }

  private async _isWantedAgain(): Promise<boolean> {
    if (!this._isWanted || this._isDisposed) {
      return false;
    }
    await new Promise(resolve => setTimeout(resolve, QUIET_MS));
    return !this._isDisposed;
  }

  private async _look(): Promise<void> {
    try {
      const state = await this._api.state();
      if (state.stream !== this._view.state?.stream) {
        await this._checkVersion();
      }
      this._cursor.reset(state.stream, state.seq);
      if (this._isWatched && this._view.failure) {
        void this._poll.refresh(); // ends the back-off
      }
      this._show({
        status: 'ready',
        state,
        receivedAt: this._now(),
        failure: null
      });
    } catch (reason) {
      const failure = asApiError(reason);
      this._show({ status: failure.status === 404 ? 'missing' : 'failed', failure });
    }
  }

  private async _checkVersion(): Promise<void> {
    const health = await this._api.health();
    const fits = health.version === ourVersion && health.schema_version === SCHEMA_VERSION;
    this._view = { ...this._view, otherVersion: fits ? null : health.version };
  }

  private _show(change: Partial<IView>): void {
    if (!this._isDisposed) {
      this._view = { ...this._view, ...change };
      this._changed.emit(this._view);
    }
  }

  private readonly _api: IApi;
  private readonly _now: () => number;
  private readonly _events: Pick<Event.IManager, 'stream'>;
  private readonly _poll: Poll;
  private readonly _cursor = new EventCursor();
  private readonly _changed = new Signal<this, IView>(this);
  private _view: IView = {
    status: 'loading',
    state: null,
    receivedAt: 0,
    failure: null,
    otherVersion: null
  };
  private _running: Promise<void> | null = null;
  private _isWanted = false;
  private _isWatched = false;
  private _isDisposed = false;
}
