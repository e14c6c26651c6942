/** The controls above a log: which rank is shown, and whether the view follows. */

import { ReactWidget, ToolbarButtonComponent, HTMLSelect } from '@jupyterlab/ui-components';
import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { useSignals } from './hooks';
import { LogView } from './logview';

const ALL = 'all';

export function createLogControls(view: LogView, trans: TranslationBundle): ReactWidget {
  const widget = ReactWidget.create(<LogControls view={view} trans={trans} />);
  widget.addClass('jp-GpuClusters-logControls');
  return widget;
}

function LogControls({
  view,
  trans
}: {
  view: LogView;
  trans: TranslationBundle;
}): React.ReactElement {
  useSignals(view.changed);
  return (
    <>
      <HTMLSelect
        aria-label={trans.__('Ranks shown')}
        title={trans.__('Ranks shown')}
        value={view.onlyRank ?? ALL}
        onChange={event => {
          const { value } = event.target;
          view.onlyRank = value === ALL ? null : Number(value);
        }}
      >
        <option value={ALL}>{trans.__('All ranks')}</option>
        {view.ranks.map(rank => (
          <option key={rank} value={rank}>
            {trans.__('Rank %1', rank)}
          </option>
        ))}
      </HTMLSelect>
      <ToolbarButtonComponent
        label={trans.__('Follow')}
        tooltip={trans.__('Keep the newest output in sight')}
        pressed={view.isFollowing}
        onClick={() => {
          view.isFollowing = !view.isFollowing;
        }}
      />
    </>
  );
}
