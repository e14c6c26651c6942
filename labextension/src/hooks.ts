/** React's side of Lumino signals and of time. */

import { ISignal } from '@lumino/signaling';
import * as React from 'react';

/** Draw again whenever one of the signals is emitted. */
export function useSignals(...signals: ISignal<unknown, unknown>[]): void {
  const [, redraw] = React.useReducer((count: number) => count + 1, 0);
  React.useEffect(() => {
    signals.forEach(signal => signal.connect(redraw));
    return () => {
      signals.forEach(signal => signal.disconnect(redraw));
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- a list of the signals themselves
  }, signals);
}

/** Our monotonic clock in ms, read once a second while `isRunning`. */
export function useNow(isRunning: boolean): number {
  const [now, setNow] = React.useState(() => performance.now());
  React.useEffect(() => {
    if (!isRunning) {
      return undefined;
    }
    const tick = () => setNow(performance.now());
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  }, [isRunning]);
  return now;
}
