/** Asking the server from a view: the answer, or why there is none and a way to ask again. */

import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { ABORTED, ApiError, asApiError, linesOf } from './api';

interface IFailedProps {
  error: ApiError;
  onRetry(): void;
  trans: TranslationBundle;
}

export function Failed(props: IFailedProps): React.ReactElement {
  return (
    <div role="alert" className="jp-GpuClusters-fieldError">
      {linesOf(props.error).map((line, index) => (
        <p key={index}>{line}</p>
      ))}
      <button type="button" className="jp-GpuClusters-textButton" onClick={props.onRetry}>
        {props.trans.__('Try again')}
      </button>
    </div>
  );
}

export interface IAnswered<T> {
  answer: T | null;
  error: ApiError | null;
  isLoading: boolean;
  reload(): void;
}

/** Ask once, and again on request; a question that nobody waits for any more is ended. */
export function useAnswer<T>(ask: (signal: AbortSignal) => Promise<T>): IAnswered<T> {
  const [round, setRound] = React.useState(0);
  const [result, setResult] = React.useState<Omit<IAnswered<T>, 'reload'>>({
    answer: null,
    error: null,
    isLoading: true
  });
  React.useEffect(() => {
    const request = new AbortController();
    setResult(({ answer }) => ({ answer, error: null, isLoading: true }));
    ask(request.signal).then(
      answer => setResult({ answer, error: null, isLoading: false }),
      (reason: unknown) => {
        const error = asApiError(reason);
        if (error.code !== ABORTED) {
          setResult(({ answer }) => ({ answer, error, isLoading: false }));
        }
      }
    );
    return () => request.abort();
  }, [ask, round]);
  return { ...result, reload: () => setRound(count => count + 1) };
}
