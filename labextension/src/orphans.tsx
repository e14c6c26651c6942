/** What nobody ordered from here, and orders with nothing behind them: a table with age, price and what to do. */

import { JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget, refreshIcon } from '@jupyterlab/ui-components';
import * as React from 'react';

import { Actions } from './actions';
import { IApi, ICluster, IOrder, IOrphan, IOrphans, IState } from './api';
import { Failed, useAnswer } from './asking';
import { isOutcomeUnknown } from './certainty';
import { age, money } from './format';
import { useSignals } from './hooks';
import { clusterIcon } from './icons';
import { Recovery } from './recovery';
import { IClustersModel } from './tokens';
import { clusterKey, orderKey } from './tree';

const ID = 'jupyter-gpu-clusters-orphans';
const MAX_ROWS = 500;

export interface IOrphansOptions {
  app: JupyterFrontEnd;
  api: Pick<IApi, 'orphans'>;
  model: IClustersModel;
  actions: Actions;
  recovery: Recovery;
  trans: TranslationBundle;
}

export class OrphansOpener {
  constructor(private readonly _options: IOrphansOptions) {}

  /** Show the table; there is one. */
  readonly open = (): void => {
    const { shell } = this._options.app;
    if (!this._widget || this._widget.isDisposed) {
      this._widget = this._create();
      shell.add(this._widget, 'main', { type: 'GPU Clusters orphans' });
    }
    shell.activateById(ID);
  };

  private _create(): MainAreaWidget {
    const { trans } = this._options;
    const content = ReactWidget.create(<OrphansView {...this._options} />);
    content.addClass('jp-GpuClusters-details');
    const widget = new MainAreaWidget({ content });
    widget.id = ID;
    widget.title.label = trans.__('Not ordered here');
    widget.title.icon = clusterIcon;
    widget.title.closable = true;
    widget.toolbar.hide();
    return widget;
  }

  private _widget: MainAreaWidget | null = null;
}

export type IOrphansViewProps = Omit<IOrphansOptions, 'app'>;

export function OrphansView(props: IOrphansViewProps): React.ReactElement {
  const { api, model, actions, trans } = props;
  useSignals(model.changed, actions.changed);
  const ask = React.useCallback(
    async (signal: AbortSignal) => {
      const report = await api.orphans(signal);
      // What can be done about each follows from the list.
      await model.refresh();
      return report;
    },
    [api, model]
  );
  const { answer, error, isLoading, reload } = useAnswer<IOrphans>(ask);
  return (
    <div className="jp-GpuClusters-detailsPage" aria-busy={isLoading}>
      <h2>
        {trans.__('What was not ordered here')}
        <button
          type="button"
          className="jp-GpuClusters-button"
          aria-label={trans.__('Look again at everything')}
          title={trans.__('Look again')}
          disabled={isLoading}
          onClick={reload}
        >
          <refreshIcon.react tag="span" />
        </button>
      </h2>
      <p>
        {trans.__(
          'Clusters of your accounts that no order from here made, and orders with nothing behind them. They may cost money.'
        )}
      </p>
      {isLoading && !answer && <p role="status">{trans.__('Looking at your accounts…')}</p>}
      {error && <Failed error={error} onRetry={reload} trans={trans} />}
      {answer && <Report report={answer} reload={reload} {...props} />}
    </div>
  );
}

type IReportProps = IOrphansViewProps & { report: IOrphans; reload(): void };

function Report(props: IReportProps): React.ReactElement {
  const { items, not_seen: notSeen } = props.report;
  const { trans } = props;
  return (
    <>
      {items.length === 0 ? (
        <p>{trans.__('Nothing: all that may cost was ordered from here and is listed.')}</p>
      ) : (
        <OrphansTable {...props} />
      )}
      {items.length > MAX_ROWS && (
        <p>{trans.__('%1 more rows are not shown.', items.length - MAX_ROWS)}</p>
      )}
      {notSeen.map(what => (
        <p key={what}>{trans.__('Not looked at: %1', what)}</p>
      ))}
    </>
  );
}

function OrphansTable(props: IReportProps): React.ReactElement {
  const { report, model, trans } = props;
  const heads = [
    trans.__('Name'),
    trans.__('Account'),
    trans.__('Why it is here'),
    trans.__('Since'),
    trans.__('Price'),
    trans.__('Id'),
    trans.__('What to do')
  ];
  const { state } = model.view;
  const now = state ? Date.parse(state.now) : Date.now();
  return (
    <div className="jp-GpuClusters-tableScroller">
      <table className="jp-GpuClusters-table jp-GpuClusters-orphans">
        <thead>
          <tr>
            {heads.map(head => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {report.items.slice(0, MAX_ROWS).map(orphan => (
            <tr key={`${orphan.account}/${orphan.ref}`}>
              <th scope="row">{orphan.name}</th>
              <td>{orphan.account}</td>
              <td>{orphan.why}</td>
              <td>{sinceText(orphan, now, trans)}</td>
              <td>{priceText(orphan, trans)}</td>
              <td>{orphan.ref}</td>
              <td>
                <Ways orphan={orphan} {...props} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The single actions; where the list does not know it (any more), the words of the report. */
function Ways(props: IReportProps & { orphan: IOrphan }): React.ReactElement {
  const { orphan, model, actions, reload, trans } = props;
  const thing = thingOf(orphan, model.view.state);
  if (thing === null) {
    return <code>{orphan.next_step}</code>;
  }
  const isBusy = actions.isBusy('verb' in thing ? orderKey(thing) : clusterKey(thing));
  return (
    <span className="jp-GpuClusters-ways">
      {waysFor(thing, props).map(({ label, whyNot, go }) => (
        <button
          key={label}
          type="button"
          className="jp-GpuClusters-textButton"
          aria-label={trans.__('%1 (%2)', label, orphan.name)}
          title={whyNot ?? undefined}
          disabled={isBusy || whyNot !== null}
          onClick={() => void go().then(reload)}
        >
          {label}
        </button>
      ))}
    </span>
  );
}

interface IWay {
  label: string;
  whyNot: string | null;
  go(): Promise<void>;
}

function waysFor(thing: ICluster | IOrder, props: IReportProps): IWay[] {
  const { recovery, trans } = props;
  if (!('verb' in thing)) {
    return [wayForCluster(thing, props)];
  }
  const closes = isOutcomeUnknown(thing) ? null : trans.__('Whoever sent it is still at work.');
  const wished = thing.on_sight ? trans.__('It is wished already.') : null;
  return [
    { label: trans.__('Check now'), whyNot: null, go: () => recovery.check(thing) },
    {
      label: trans.__('Delete as soon as it shows…'),
      whyNot: wished,
      go: () => recovery.deleteOnSight(thing)
    },
    { label: trans.__('Close…'), whyNot: closes, go: () => recovery.closeOrder(thing) }
  ];
}

function wayForCluster(cluster: ICluster, props: IReportProps): IWay {
  const { actions, recovery, model, trans } = props;
  if (cluster.vanished_at !== null) {
    const go = () => recovery.closeVanished(cluster);
    return { label: trans.__('Close…'), whyNot: null, go };
  }
  const account = model.view.state?.accounts.find(one => one.account === cluster.account);
  const unable = account?.can.includes('delete')
    ? null
    : (account?.why_not.delete ?? trans.__('Its account offers no way to delete it.'));
  const isGoing = cluster.phase === 'deleting' || cluster.phase === 'deleted';
  return {
    label: trans.__('Delete…'),
    whyNot: isGoing ? trans.__('It is already being deleted.') : unable,
    go: () => actions.deleteCluster(cluster)
  };
}

/** The cluster or order that a line of the report is about. */
export function thingOf(
  { account, ref }: Pick<IOrphan, 'account' | 'ref'>,
  state: IState | null
): ICluster | IOrder | null {
  return (
    state?.clusters.find(one => one.account === account && one.cluster_id === ref) ??
    state?.orders.find(one => one.account === account && one.order_id === ref) ??
    null
  );
}

function sinceText({ since }: IOrphan, nowMs: number, trans: TranslationBundle): string {
  return since ? age((nowMs - Date.parse(since)) / 1000, trans) : trans.__('unknown');
}

function priceText(orphan: IOrphan, trans: TranslationBundle): string {
  const { is_free: isFree, price_per_hour: price } = orphan;
  if (isFree) {
    return trans.__('free');
  }
  return price !== null && Number(price.amount) > 0
    ? trans.__('%1/h', money(price))
    : trans.__('price unknown');
}
