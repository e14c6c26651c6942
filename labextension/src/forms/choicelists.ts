/**
 * The lists of choices of one form: looked up when a field first shows one, and again when a field they depend on
 * changes. Only the newest answer counts; a list that cannot be had says why and stops nothing.
 */

import { JSONExt, JSONObject, JSONValue } from '@lumino/coreutils';
import { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import { ABORTED, ApiError, asApiError, IApi } from '../api';
import { IChoice, ILookUp } from './answers';

export interface IChoiceList {
  readonly isLoading: boolean;
  readonly choices: readonly IChoice[];
  /** What the list does not show, where it is not complete. */
  readonly notSeen: readonly string[];
  readonly isComplete: boolean;
  readonly error: ApiError | null;
  /** Fields that must be filled in first. */
  readonly missing: readonly string[];
}

const NOTHING: IChoiceList = {
  isLoading: false,
  choices: [],
  notSeen: [],
  isComplete: true,
  error: null,
  missing: []
};

export interface IChoiceListsOptions {
  api: Pick<IApi, 'choices'>;
  account: string;
  lookUps: Record<string, ILookUp>;
  /** How long the user must have stopped typing, in ms. */
  quietMs?: number;
}

interface IEntry {
  list: IChoiceList;
  dependsOn: Set<string>;
  /** What it depended on when it was asked for last. */
  askedWith: JSONValue;
  timer: ReturnType<typeof setTimeout> | null;
  request: AbortController | null;
}

export class ChoiceLists implements IDisposable {
  constructor(options: IChoiceListsOptions) {
    this._options = options;
    this._quietMs = options.quietMs ?? 400;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** The list as it is known now. */
  get(name: string): IChoiceList {
    return this._entries.get(name)?.list ?? NOTHING;
  }

  /** A field shows this list; `dependsOn` are dotted paths of the spec. */
  want(name: string, dependsOn: readonly string[]): void {
    const entry = this._entries.get(name);
    if (entry) {
      dependsOn.forEach(path => entry.dependsOn.add(path));
      return;
    }
    const { depends_on: more = [], needs = [] } = this._options.lookUps[name] ?? {};
    this._entries.set(name, {
      list: NOTHING,
      dependsOn: new Set([...dependsOn, ...more, ...needs]),
      askedWith: null,
      timer: null,
      request: null
    });
    void this._load(name);
  }

  /** The spec has changed: reload what depends on what is different, once the user pauses. */
  follow(spec: JSONObject): void {
    this._spec = spec;
    for (const [name, entry] of this._entries) {
      if (!JSONExt.deepEqual(entry.askedWith, this._dependencies(entry))) {
        this._stop(entry);
        entry.timer = setTimeout(() => void this._load(name), this._quietMs);
      }
    }
  }

  /** Look it up again now. */
  reload(name: string): void {
    void this._load(name);
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._entries.forEach(entry => this._stop(entry));
      Signal.clearData(this);
    }
  }

  private async _load(name: string): Promise<void> {
    const entry = this._entries.get(name);
    if (!entry || this._isDisposed) {
      return;
    }
    this._stop(entry);
    entry.askedWith = this._dependencies(entry);
    const needs = this._options.lookUps[name]?.needs ?? [];
    const missing = needs.filter(path => valueAt(this._spec, path) === null);
    if (missing.length > 0) {
      this._show(entry, { ...NOTHING, missing });
      return;
    }
    const request = (entry.request = new AbortController());
    this._show(entry, { ...entry.list, isLoading: true, error: null, missing: [] });
    try {
      const { api, account } = this._options;
      const found = await api.choices(account, name, this._spec, request.signal);
      this._show(entry, {
        ...NOTHING,
        choices: found.choices,
        isComplete: found.is_complete,
        notSeen: found.not_seen
      });
    } catch (reason) {
      const error = asApiError(reason);
      if (error.code !== ABORTED) {
        this._show(entry, { ...NOTHING, error });
      }
    }
  }

  private _show(entry: IEntry, list: IChoiceList): void {
    entry.list = list;
    if (!this._isDisposed) {
      this._changed.emit();
    }
  }

  private _stop(entry: IEntry): void {
    if (entry.timer !== null) {
      clearTimeout(entry.timer);
      entry.timer = null;
    }
    entry.request?.abort();
    entry.request = null;
  }

  private _dependencies(entry: IEntry): JSONValue {
    return [...entry.dependsOn].map(path => valueAt(this._spec, path));
  }

  private readonly _options: IChoiceListsOptions;
  private readonly _quietMs: number;
  private readonly _changed = new Signal<this, void>(this);
  private readonly _entries = new Map<string, IEntry>();
  private _spec: JSONObject = {};
  private _isDisposed = false;
}

/** The value at a dotted path, `null` where there is none. */
function valueAt(spec: JSONObject, path: string): JSONValue {
  let here: JSONValue | undefined = spec;
  for (const key of path.split('.')) {
    here =
      typeof here === 'object' && here !== null && !Array.isArray(here) ? here[key] : undefined;
  }
  return here ?? null;
}
