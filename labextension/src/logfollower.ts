/** Reads the output of one workload, from its last lines to its end, again and again while it runs. */

import { IDisposable } from '@lumino/disposable';
import { Poll } from '@lumino/polling';
import { ISignal, Signal } from '@lumino/signaling';

import { ApiError, asApiError, IApi, ILogs, LogOffsets, WorkloadRef } from './api';

const POLL_MS = 1000;
const MAX_BACK_OFF_MS = 30_000;

/** So many answers with "there is more" are taken without a pause. */
const MAX_READS_IN_A_ROW = 20;

export class LogFollower implements IDisposable {
  constructor(
    private readonly _api: Pick<IApi, 'logs'>,
    private readonly _workload: WorkloadRef
  ) {
    this._poll = new Poll({
      name: 'jupyter-gpu-clusters:log',
      standby: 'when-hidden',
      frequency: { interval: POLL_MS, backoff: true, max: MAX_BACK_OFF_MS },
      factory: () => this._read()
    });
  }

  get received(): ISignal<this, ILogs> {
    return this._received;
  }

  /** Why the last read failed. Reading goes on, unless the workload is no longer there. */
  get failed(): ISignal<this, ApiError> {
    return this._failed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._poll.dispose();
      Signal.clearData(this);
    }
  }

  private async _read(): Promise<void> {
    try {
      for (let i = 0; i < MAX_READS_IN_A_ROW && !this._isDisposed; i++) {
        if (!(await this._readOnce())) {
          return;
        }
      }
    } catch (reason) {
      const error = asApiError(reason);
      if (error.status === 404) {
        void this._poll.stop();
      }
      this._failed.emit(error);
      throw error;
    }
  }

  /** Returns whether there is more to read at once. */
  private async _readOnce(): Promise<boolean> {
    const logs = await this._api.logs(this._workload, this._offsets);
    if (this._isDisposed) {
      return false;
    }
    this._offsets = logs.offsets;
    this._received.emit(logs);
    if (logs.is_final && !logs.has_more) {
      void this._poll.stop();
    }
    return logs.has_more;
  }

  private readonly _poll: Poll;
  private readonly _received = new Signal<this, ILogs>(this);
  private readonly _failed = new Signal<this, ApiError>(this);
  private _offsets: LogOffsets | null = null;
  private _isDisposed = false;
}
