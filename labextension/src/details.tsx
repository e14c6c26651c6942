/** What is known of a cluster, workload or order, and the provider's own tables about it, in the main area. */

import { JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { infoIcon, ReactWidget, refreshIcon } from '@jupyterlab/ui-components';
import * as React from 'react';

import { IApi } from './api';
import { Failed, useAnswer } from './asking';
import { Fact, factsOf, isOrder, keyOf, Known, titleOf } from './facts';
import { IDetails, Thing } from './forms/answers';
import { useSignals } from './hooks';
import { IClustersModel } from './tokens';

const MAX_ROWS = 500;

export interface IDetailsOptions {
  app: JupyterFrontEnd;
  api: Pick<IApi, 'detailKinds' | 'details'>;
  model: IClustersModel;
  trans: TranslationBundle;
}

export class DetailsOpener {
  constructor(private readonly _options: IDetailsOptions) {}

  readonly open = (thing: Known): void => {
    const { shell } = this._options.app;
    const id = `jupyter-gpu-clusters-details-${keyOf(thing)}`;
    if (![...shell.widgets('main')].some(widget => widget.id === id)) {
      shell.add(this._create(thing, id), 'main', { type: 'GPU Clusters details' });
    }
    shell.activateById(id);
  };

  private _create(thing: Known, id: string): MainAreaWidget {
    const { trans } = this._options;
    const content = ReactWidget.create(<DetailsView first={thing} {...this._options} />);
    content.addClass('jp-GpuClusters-details');
    const widget = new MainAreaWidget({ content });
    widget.id = id;
    widget.title.label = thing.name;
    widget.title.caption = trans.__('Details of %1', titleOf(thing, trans));
    widget.title.icon = infoIcon;
    widget.title.closable = true;
    widget.toolbar.hide();
    return widget;
  }
}

export type IDetailsViewProps = Omit<IDetailsOptions, 'app'> & {
  /** The thing as it was when it was opened. */
  first: Known;
};

export function DetailsView(props: IDetailsViewProps): React.ReactElement {
  const { first, model, trans } = props;
  useSignals(model.changed);
  const { view } = model;
  const { clusters = [], workloads = [], orders = [] } = view.state ?? {};
  const key = keyOf(first);
  const now = [...clusters, ...workloads, ...orders].find(thing => keyOf(thing) === key);
  const nowMs = Math.max(performance.now(), view.receivedAt);
  return (
    <div className="jp-GpuClusters-detailsPage">
      <h2>{titleOf(first, trans)}</h2>
      {!now && <p>{trans.__('It is no longer in the list; this is what was known of it.')}</p>}
      <Facts facts={factsOf(now ?? first, view, nowMs, trans)} />
      {!isOrder(first) && <Tables thing={first} {...props} />}
    </div>
  );
}

type ITablesProps = Pick<IDetailsViewProps, 'api' | 'trans'> & { thing: Thing };

function Tables(props: ITablesProps): React.ReactElement {
  const { thing, api, trans } = props;
  const kinds = useAnswer(React.useCallback(() => api.detailKinds(thing), [api, thing]));
  const entries = Object.entries(kinds.answer?.kinds ?? {});
  return (
    <>
      {kinds.error && <Failed error={kinds.error} onRetry={kinds.reload} trans={trans} />}
      {entries.map(([kind, title]) => (
        <Table key={kind} kind={kind} title={title} {...props} />
      ))}
    </>
  );
}

function Facts({ facts }: { facts: Fact[] }): React.ReactElement {
  return (
    <dl className="jp-GpuClusters-planRows">
      {facts.map(([term, text]) => (
        <React.Fragment key={term}>
          <dt>{term}</dt>
          <dd>{text}</dd>
        </React.Fragment>
      ))}
    </dl>
  );
}

function Table(props: ITablesProps & { kind: string; title: string }): React.ReactElement {
  const { thing, kind, title, api, trans } = props;
  const ask = React.useCallback(
    (signal: AbortSignal) => api.details(thing, kind, signal),
    [api, thing, kind]
  );
  const { answer, error, isLoading, reload } = useAnswer<IDetails>(ask);
  return (
    <section aria-label={title} aria-busy={isLoading}>
      <h3>
        {title}
        <button
          type="button"
          className="jp-GpuClusters-button"
          aria-label={trans.__('Look at %1 again', title)}
          title={trans.__('Look again')}
          disabled={isLoading}
          onClick={reload}
        >
          <refreshIcon.react tag="span" />
        </button>
      </h3>
      {isLoading && !answer && <p role="status">{trans.__('Looking…')}</p>}
      {error && <Failed error={error} onRetry={reload} trans={trans} />}
      {answer && <Rows details={answer} trans={trans} />}
    </section>
  );
}

function Rows({ details, trans }: { details: IDetails; trans: TranslationBundle }) {
  const { columns, rows, note } = details;
  return (
    <>
      {rows.length === 0 ? (
        <p>{trans.__('Nothing.')}</p>
      ) : (
        <div className="jp-GpuClusters-tableScroller">
          <table className="jp-GpuClusters-table">
            <thead>
              <tr>
                {columns.map(column => (
                  <th key={column} scope="col">
                    {column.replaceAll('_', ' ')}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, MAX_ROWS).map((row, index) => (
                <tr key={index}>
                  {columns.map(column => (
                    <td key={column}>{row[column] ?? ''}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {rows.length > MAX_ROWS && (
        <p>{trans.__('%1 more rows are not shown.', rows.length - MAX_ROWS)}</p>
      )}
      {note && <p className="jp-GpuClusters-fieldHelp">{note}</p>}
    </>
  );
}
