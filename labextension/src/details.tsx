/** What is known of a cluster or workload, and the provider's own tables about it, in the main area. */

import { JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { infoIcon, ReactWidget, refreshIcon } from '@jupyterlab/ui-components';
import * as React from 'react';

import { ABORTED, ApiError, asApiError, IApi, ICluster, IWorkload, linesOf } from './api';
import { extent, gpus, nodes, phaseOf, price } from './format';
import { IDetails } from './forms/answers';
import { useSignals } from './hooks';
import { IClustersModel } from './tokens';
import { clusterKey, workloadKey } from './tree';

const MAX_ROWS = 500;

export interface IDetailsOptions {
  app: JupyterFrontEnd;
  api: Pick<IApi, 'detailKinds' | 'details'>;
  model: IClustersModel;
  trans: TranslationBundle;
}

type Known = ICluster | IWorkload;

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
    widget.title.caption = trans.__('Details of %1', thing.full_name);
    widget.title.icon = infoIcon;
    widget.title.closable = true;
    widget.toolbar.hide();
    return widget;
  }
}

function keyOf(thing: Known): string {
  return 'workload_id' in thing ? workloadKey(thing) : clusterKey(thing);
}

export type IDetailsViewProps = Omit<IDetailsOptions, 'app'> & {
  /** The thing as it was when it was opened. */
  first: Known;
};

export function DetailsView(props: IDetailsViewProps): React.ReactElement {
  const { first, api, model, trans } = props;
  useSignals(model.changed);
  const { clusters = [], workloads = [] } = model.view.state ?? {};
  const key = keyOf(first);
  const now = [...clusters, ...workloads].find(thing => keyOf(thing) === key);
  const kinds = useAnswer(React.useCallback(() => api.detailKinds(first), [api, first]));
  const entries = Object.entries(kinds.answer?.kinds ?? {});
  return (
    <div className="jp-GpuClusters-detailsPage">
      <h2>{first.full_name}</h2>
      {!now && <p>{trans.__('It is no longer in the list; this is what was known of it.')}</p>}
      <Facts facts={factsOf(now ?? first, trans)} />
      {kinds.error && <Failed error={kinds.error} onRetry={kinds.reload} trans={trans} />}
      {entries.map(([kind, title]) => (
        <Table key={kind} kind={kind} title={title} {...props} />
      ))}
    </div>
  );
}

/** The common words, each with its name. */
function factsOf(thing: Known, trans: TranslationBundle): [string, string][] {
  const time = (text: string | null) => (text ? new Date(text).toLocaleString() : '');
  const common: [string, string][] = [
    [trans.__('State'), phaseOf(thing, trans)],
    [trans.__("The provider's word"), thing.provider_state ?? ''],
    [trans.__('Reason'), thing.reason ?? ''],
    [trans.__('Account'), thing.account]
  ];
  const own: [string, string][] =
    'workload_id' in thing
      ? [
          [trans.__('Id'), thing.workload_id],
          [trans.__('Size'), extent(thing, trans)],
          [trans.__('Command'), thing.command.join(' ')],
          [trans.__('Submitted'), time(thing.submitted_at)],
          [trans.__('Started'), time(thing.started_at)],
          [trans.__('Finished'), time(thing.finished_at)],
          [trans.__('Exit code'), thing.exit_code === null ? '' : String(thing.exit_code)]
        ]
      : [
          [trans.__('Id'), thing.cluster_id],
          [
            trans.__('Size'),
            [nodes(thing.node_count, trans), gpus(thing)].filter(Boolean).join(', ')
          ],
          [trans.__('Price'), price(thing, trans)],
          [trans.__('Region'), thing.region ?? ''],
          [trans.__('Log in at'), thing.login_address ?? ''],
          [trans.__('Created'), time(thing.created_at)],
          [trans.__('Ends'), time(thing.ends_at)],
          [trans.__('Created here'), thing.created_here ? trans.__('yes') : trans.__('no')]
        ];
  return [...common, ...own].filter(([, text]) => text !== '');
}

function Facts({ facts }: { facts: [string, string][] }): React.ReactElement {
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

function Table(props: IDetailsViewProps & { kind: string; title: string }): React.ReactElement {
  const { first, kind, title, api, trans } = props;
  const ask = React.useCallback(
    (signal: AbortSignal) => api.details(first, kind, signal),
    [api, first, kind]
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

function Failed(props: { error: ApiError; onRetry(): void; trans: TranslationBundle }) {
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

interface IAnswered<T> {
  answer: T | null;
  error: ApiError | null;
  isLoading: boolean;
  reload(): void;
}

/** Ask once, and again on request; a question that nobody waits for any more is ended. */
function useAnswer<T>(ask: (signal: AbortSignal) => Promise<T>): IAnswered<T> {
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
