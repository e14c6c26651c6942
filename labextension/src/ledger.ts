/**
 * What has been told to the user, shared by all tabs of one browser: each thing is told by one of them.
 *
 * A tab writes its own name under the key, waits, and reads it back: of tabs that write at the same time the last one
 * wins, and all see the same. (Lock managers of browsers are missing where a page is not served securely.)
 */

import { UUID } from '@lumino/coreutils';

const DAY_MS = 24 * 3600_000;

/** Longer than anything here is watched. */
const KEPT_MS = 40 * DAY_MS;
const MAX_KEPT = 500;

/** Longer than it takes until every tab sees what one has written. */
const SETTLE_MS = 300;

export interface ILedgerOptions {
  /** The storage of the browser; `null` where a page may not use it. */
  storage: Storage | null;
  /** What tells servers on one origin apart. */
  scope: string;
  settleMs?: number;
  now?: () => number;
}

export class Ledger {
  constructor(options: ILedgerOptions) {
    this._storage = options.storage;
    this._prefix = `jupyter-gpu-clusters:told:${options.scope}:`;
    this._settleMs = options.settleMs ?? SETTLE_MS;
    this._now = options.now ?? Date.now;
    this._prune();
  }

  /** Whether this tab is the one to tell; `false` where it was told before. */
  async claim(key: string): Promise<boolean> {
    const at = this._prefix + key;
    if (this._read(at) !== null) {
      return false;
    }
    const mine = `${this._now()} ${this._tab}`;
    if (!this._write(at, mine)) {
      return true;
    }
    await new Promise(resolve => setTimeout(resolve, this._settleMs));
    return this._read(at) === mine;
  }

  /** It is over: it may be told again. */
  forget(key: string): void {
    this._storage?.removeItem(this._prefix + key);
  }

  private _read(at: string): string | null {
    return this._storage?.getItem(at) ?? null;
  }

  private _write(at: string, text: string): boolean {
    try {
      this._storage?.setItem(at, text);
      return this._storage !== null;
    } catch {
      return false; // full, or not allowed: told by every tab rather than by none
    }
  }

  private _prune(): void {
    const storage = this._storage;
    if (storage === null) {
      return;
    }
    const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? '');
    const entries = keys
      .filter(key => key.startsWith(this._prefix))
      .map(key => ({ key, at: Number.parseInt(storage.getItem(key) ?? '', 10) || 0 }))
      .sort((one, other) => other.at - one.at);
    const oldest = this._now() - KEPT_MS;
    entries
      .filter(({ at }, index) => index >= MAX_KEPT || at < oldest)
      .forEach(({ key }) => storage.removeItem(key));
  }

  private readonly _storage: Storage | null;
  private readonly _prefix: string;
  private readonly _settleMs: number;
  private readonly _now: () => number;
  private readonly _tab = UUID.uuid4();
}

/** The browser's storage, where the page may use it. */
export function browserStorage(): Storage | null {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}
