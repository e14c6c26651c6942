/**
 * The output of a workload in the main area. Follows it while it runs.
 *
 * Lines are plain elements, so that selecting, copying and the browser's search work; their number is bounded.
 */

import { TranslationBundle } from '@jupyterlab/translation';
import { Message } from '@lumino/messaging';
import { ISignal, Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';

import { ApiError, IApi, ILogs, IWorkload } from './api';
import { lookOf, phaseWord } from './format';
import { ILogChange, ILogLine, LogBuffer } from './logbuffer';
import { LogFollower } from './logfollower';

/** Enough of a workload to read its log, also before the list has come. */
export type ILogTarget = Pick<IWorkload, 'account' | 'cluster_id' | 'workload_id' | 'full_name'>;

const MAX_LINES = 5000;

/** The end counts as in sight when it is this near. */
const END_PX = 8;

export interface ILogViewOptions {
  api: Pick<IApi, 'logs'>;
  target: ILogTarget;
  trans: TranslationBundle;
  /** How many lines are kept. */
  maxLines?: number;
}

export class LogView extends Widget {
  constructor(options: ILogViewOptions) {
    super();
    this.target = options.target;
    this._trans = options.trans;
    this.addClass('jp-GpuClusters-log');
    this._buffer = new LogBuffer(options.maxLines ?? MAX_LINES, (rank, bytes) =>
      this._trans.__('%1 bytes of rank %2 are missing here', bytes, rank)
    );
    this._build();
    this._follower = new LogFollower(options.api, options.target);
    this._follower.received.connect(this._onReceived, this);
    this._follower.failed.connect(this._onFailed, this);
  }

  readonly target: ILogTarget;

  /** Emitted when ranks, phase or following changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** The ranks that have written something, ascending. */
  get ranks(): readonly number[] {
    return this._buffer.ranks;
  }

  /** The workload's phase, `null` until the first answer. */
  get phase(): string | null {
    return this._phase;
  }

  /** The only rank shown, `null` for all. */
  get onlyRank(): number | null {
    return this._onlyRank;
  }
  set onlyRank(rank: number | null) {
    this._onlyRank = rank;
    this._elements.forEach((element, id) => {
      element.hidden = !this._isShown(this._rankOf.get(id) ?? null);
    });
    this._scrollToEnd();
    this._changed.emit();
  }

  /** Whether new output moves the view; off once the user scrolls up. */
  get isFollowing(): boolean {
    return this._isFollowing;
  }
  set isFollowing(value: boolean) {
    if (value !== this._isFollowing) {
      this._isFollowing = value;
      this._changed.emit();
    }
    this._scrollToEnd();
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._follower.dispose();
      Signal.clearData(this);
      super.dispose();
    }
  }

  protected override onActivateRequest(_: Message): void {
    this._scroller.focus();
  }

  protected override onAfterShow(_: Message): void {
    this._scrollToEnd();
  }

  private _build(): void {
    this._scroller.className = 'jp-GpuClusters-logScroller';
    this._scroller.tabIndex = 0;
    this._scroller.setAttribute('role', 'log');
    this._scroller.setAttribute('aria-live', 'off');
    this._scroller.setAttribute('aria-label', this._trans.__('Log of %1', this.target.full_name));
    this._scroller.addEventListener('scroll', () => this._onScroll());
    this._status.className = 'jp-GpuClusters-logStatus';
    this._status.setAttribute('role', 'status');
    this._note.className = 'jp-GpuClusters-logNote';
    this._note.hidden = true;
    this._scroller.append(this._note, this._lines);
    this.node.append(this._scroller, this._status);
    this._say(this._trans.__('Reading the log…'));
  }

  private _onReceived(_: LogFollower, logs: ILogs): void {
    const isNewPhase = logs.phase !== this._phase;
    const before = this._buffer.ranks.length;
    this._phase = logs.phase;
    this._apply(this._buffer.add(logs.chunks));
    this._noteOlder();
    this._sayPhase(logs);
    if (isNewPhase || before !== this._buffer.ranks.length) {
      this._changed.emit();
    }
  }

  private _onFailed(_: LogFollower, { status, message }: ApiError): void {
    const text =
      status === 404
        ? this._trans.__('There is no more to read: %1', message)
        : this._trans.__('Could not read on, and will try again: %1', message);
    this._say(text, 'bad');
  }

  private _apply({ added, grown, dropped }: ILogChange): void {
    for (let i = 0; i < dropped; i++) {
      this._removeOldest();
    }
    grown.forEach(line => {
      const element = this._elements.get(line.id);
      element?.lastChild?.replaceWith(textOf(line));
    });
    this._lines.append(...added.map(line => this._elementOf(line)));
    if (this._isFollowing) {
      this._scrollToEnd();
    }
  }

  private _elementOf(line: ILogLine): HTMLElement {
    const element = document.createElement('div');
    if (line.rank === null) {
      element.className = 'jp-GpuClusters-logNote';
    } else {
      const prefix = document.createElement('span');
      prefix.className = 'jp-GpuClusters-logRank';
      prefix.textContent = `[${line.rank}] `;
      element.append(prefix);
    }
    element.append(textOf(line));
    element.hidden = !this._isShown(line.rank);
    this._elements.set(line.id, element);
    this._rankOf.set(line.id, line.rank);
    return element;
  }

  private _removeOldest(): void {
    const oldest = this._elements.keys().next();
    if (!oldest.done) {
      this._elements.get(oldest.value)?.remove();
      this._elements.delete(oldest.value);
      this._rankOf.delete(oldest.value);
    }
  }

  private _isShown(rank: number | null): boolean {
    return this._onlyRank === null || rank === null || rank === this._onlyRank;
  }

  private _noteOlder(): void {
    const isWhole = this._buffer.droppedLines === 0 && this._buffer.skippedBytes === 0;
    this._note.hidden = isWhole;
    this._note.textContent = isWhole
      ? ''
      : this._trans.__(
          'Older output is not shown here; the log files have all of it (%workload_logs).'
        );
  }

  private _sayPhase(logs: ILogs): void {
    const word = phaseWord(logs.phase, this._trans);
    if (logs.is_final && !logs.has_more) {
      this._say(this._trans.__('The workload has ended: %1', word), lookOf(logs.phase).tone);
    } else if (this._buffer.lines.length === 0) {
      this._say(this._trans.__('No output yet (%1)', word));
    } else {
      this._say(word);
    }
  }

  private _say(text: string, tone = 'quiet'): void {
    if (text !== this._status.textContent) {
      this._status.textContent = text;
      this._status.title = text;
      this._status.dataset.tone = tone;
    }
  }

  private _onScroll(): void {
    const { scrollTop, clientHeight, scrollHeight } = this._scroller;
    const isAtEnd = scrollHeight - scrollTop - clientHeight <= END_PX;
    if (isAtEnd !== this._isFollowing && this.isVisible) {
      this._isFollowing = isAtEnd;
      this._changed.emit();
    }
  }

  private _scrollToEnd(): void {
    if (this._isFollowing) {
      this._scroller.scrollTop = this._scroller.scrollHeight;
    }
  }

  private readonly _trans: TranslationBundle;
  private readonly _buffer: LogBuffer;
  private readonly _follower: LogFollower;
  private readonly _changed = new Signal<this, void>(this);
  private readonly _scroller = document.createElement('div');
  private readonly _note = document.createElement('div');
  private readonly _lines = document.createElement('div');
  private readonly _status = document.createElement('div');
  /** By id of the line, oldest first. */
  private readonly _elements = new Map<number, HTMLElement>();
  private readonly _rankOf = new Map<number, number | null>();
  private _phase: string | null = null;
  private _onlyRank: number | null = null;
  private _isFollowing = true;
}

/** The text of a line; a carriage return at its end only says that what follows will replace it. */
function textOf(line: ILogLine): Text {
  return document.createTextNode(line.text.replace(/\r$/, ''));
}
