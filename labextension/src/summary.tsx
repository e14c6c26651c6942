/** One line for all of it: how many clusters there are, and how many workloads are running. */

import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { IState } from './api';
import { useSignals } from './hooks';
import { IClustersModel } from './tokens';

interface ISummaryProps {
  model: IClustersModel;
  trans: TranslationBundle;
}

export function Summary({ model, trans }: ISummaryProps): React.ReactElement {
  useSignals(model.changed);
  const text = model.view.state ? summarise(model.view.state, trans) : trans.__('GPU clusters');
  return <span title={text}>{text}</span>;
}

export function summarise(state: IState, trans: TranslationBundle): string {
  const clusters = state.clusters.filter(({ phase }) => phase !== 'deleted').length;
  const running = state.workloads.filter(({ phase }) => phase === 'running').length;
  const words = [trans._n('%1 cluster', '%1 clusters', clusters)];
  if (running > 0) {
    words.push(trans.__('%1 running', running));
  }
  return words.join(', ');
}
