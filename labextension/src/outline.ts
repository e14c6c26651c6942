/** Which rows are there, which are folded, and which one the user is on. */

import { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import { IState } from './api';
import { IClustersModel } from './tokens';
import { buildRows, Row } from './tree';

export class Outline implements IDisposable {
  constructor(model: IClustersModel) {
    this._model = model;
    model.changed.connect(this._onModelChanged, this);
  }

  /** Emitted when rows, folding or the active row changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get rows(): readonly Row[] {
    return this._rows;
  }

  /** The row that has, or would get, the keyboard focus; `null` only while there are no rows. */
  get active(): Row | null {
    return this._rows[this._activeIndex] ?? null;
  }

  get activeIndex(): number {
    return this._activeIndex;
  }

  get showFinished(): boolean {
    return this._showFinished;
  }
  set showFinished(value: boolean) {
    if (value !== this._showFinished) {
      this._showFinished = value;
      this._rebuild();
    }
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  activate(key: string): void {
    const index = this._rows.findIndex(row => row.key === key);
    if (index >= 0 && index !== this._activeIndex) {
      this._activeIndex = index;
      this._changed.emit();
    }
  }

  /** Make a row the active one, unfolding what it is in. */
  reveal(key: string): void {
    const parts = key.split('/');
    parts.slice(1).forEach((_, index) => {
      this._collapsed.delete(parts.slice(0, index + 1).join('/'));
    });
    this._rebuild();
    this.activate(key);
  }

  setExpanded(key: string, isExpanded: boolean): void {
    if (this._collapsed.has(key) === isExpanded) {
      if (isExpanded) {
        this._collapsed.delete(key);
      } else {
        this._collapsed.add(key);
      }
      this._rebuild();
    }
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      Signal.clearData(this);
    }
  }

  private _onModelChanged(): void {
    if (this._model.view.state !== this._state) {
      this._rebuild();
    }
  }

  private _rebuild(): void {
    const key = this.active?.key;
    this._state = this._model.view.state;
    this._rows = this._state
      ? buildRows(this._state, { collapsed: this._collapsed, showFinished: this._showFinished })
      : [];
    const index = this._rows.findIndex(row => row.key === key);
    // The active row is gone: stay where it was.
    this._activeIndex =
      index >= 0 ? index : Math.max(0, Math.min(this._activeIndex, this._rows.length - 1));
    this._changed.emit();
  }

  private readonly _model: IClustersModel;
  private readonly _changed = new Signal<this, void>(this);
  private readonly _collapsed = new Set<string>();
  private _state: IState | null = null;
  private _rows: readonly Row[] = [];
  private _activeIndex = 0;
  private _showFinished = true;
  private _isDisposed = false;
}
