/**
 * Where we are in the server's stream of events.
 *
 * The event bus has no replay and any signed-in client may write to it, so nothing is believed from an
 * event itself: it can only make us fetch the list again. A missed event shows as a gap in `seq`, a
 * restarted server as another `stream`.
 */

import { ReadonlyPartialJSONObject } from '@lumino/coreutils';

export class EventCursor {
  /** The list was fetched; it holds everything up to and including `seq`. */
  reset(stream: string, seq: number): void {
    this._stream = stream;
    this._seq = seq;
  }

  /** Take note of an event; returns whether the list may be out of date because of it. */
  take(event: ReadonlyPartialJSONObject): boolean {
    const { stream, seq, topic } = event;
    if (typeof stream !== 'string' || typeof seq !== 'number') {
      return false;
    }
    const isKnownStream = stream === this._stream;
    if (isKnownStream && seq <= this._seq) {
      return false;
    }
    const isNext = isKnownStream && seq === this._seq + 1;
    this.reset(stream, seq);
    return topic !== 'heartbeat' || !isNext;
  }

  private _stream: string | null = null;
  private _seq = 0;
}
