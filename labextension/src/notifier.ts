/** Tells the user what happens through Lab's notifications: each thing once, in one tab, while a page is in sight. */

import { Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import { IState } from './api';
import { serverNow } from './certainty';
import { happenings, IHappening, overBy, untilNext } from './happenings';
import { Ledger } from './ledger';
import { IClustersModel } from './tokens';

/** What is told one by one; a flood is summed up. */
const MAX_AT_ONCE = 5;

const MAX_SEEN = 5_000;

const GOOD_NEWS_MS = 8_000;

/** Timers of browsers reach no further than 24 days. */
const MAX_WAIT_MS = 24 * 3600_000;

export interface INotifierOptions {
  model: IClustersModel;
  ledger: Ledger;
  /** Show a row of the sidebar. */
  show(row: string): void;
  trans: TranslationBundle;
  /** Monotonic clock in ms. */
  now?: () => number;
}

export class Notifier implements IDisposable {
  constructor(options: INotifierOptions) {
    this._options = options;
    this._now = options.now ?? (() => performance.now());
    options.model.isFollowed = true;
    options.model.changed.connect(this._onChanged, this);
    this._onChanged();
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      clearTimeout(this._timer);
      Signal.clearData(this);
    }
  }

  private _onChanged(): void {
    const { state, status } = this._options.model.view;
    // A tab that nobody sees leaves the telling to one that is seen, and looks again when it is.
    if (state && status === 'ready' && state !== this._last && !document.hidden) {
      const before = this._last;
      this._last = state;
      void this._tell(before, state);
    }
  }

  private async _tell(before: IState | null, state: IState): Promise<void> {
    const { ledger, model, trans } = this._options;
    const atMs = serverNow(model.view, Math.max(this._now(), model.view.receivedAt));
    this._wait(untilNext(state, atMs));
    for (const key of overBy(before, state)) {
      this._seen.delete(key);
      ledger.forget(key);
    }
    const news = happenings(before, state, atMs, trans).filter(({ key }) => !this._seen.has(key));
    if (this._seen.size > MAX_SEEN) {
      this._seen.clear(); // the ledger knows them all
    }
    news.forEach(({ key }) => this._seen.add(key));
    const claims = await Promise.all(news.map(({ key }) => ledger.claim(key)));
    const mine = news.filter((_, index) => claims[index]);
    if (!this._isDisposed) {
      mine.slice(0, MAX_AT_ONCE).forEach(happening => this._show(happening));
      if (mine.length > MAX_AT_ONCE) {
        const text = trans.__(
          '%1 more things need attention: see the sidebar.',
          mine.length - MAX_AT_ONCE
        );
        Notification.emit(text, 'warning', { autoClose: false });
      }
    }
  }

  private _show({ text, type, row }: IHappening): void {
    const { show, trans } = this._options;
    const actions = row === null ? [] : [{ label: trans.__('Show'), callback: () => show(row) }];
    const autoClose = type === 'success' ? GOOD_NEWS_MS : (false as const);
    Notification.emit(text, type, { autoClose, actions });
  }

  /** Time alone will make something happen: look again then. */
  private _wait(ms: number | null): void {
    clearTimeout(this._timer);
    if (ms !== null) {
      const wake = () => void this._options.model.refresh();
      this._timer = setTimeout(wake, Math.min(ms + 1000, MAX_WAIT_MS));
    }
  }

  private readonly _options: INotifierOptions;
  private readonly _now: () => number;
  /** What this page has decided about already. */
  private readonly _seen = new Set<string>();
  private _last: IState | null = null;
  private _timer: ReturnType<typeof setTimeout> | undefined;
  private _isDisposed = false;
}
