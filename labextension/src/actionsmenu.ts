/** The provider's own actions in the context menu of its clusters: one submenu for each provider, made when known. */

import { JupyterFrontEnd } from '@jupyterlab/application';
import { TranslationBundle } from '@jupyterlab/translation';
import { MenuSvg } from '@jupyterlab/ui-components';

import { IApi, ICluster } from './api';
import { CommandIds } from './commandids';
import { IAction } from './forms/answers';
import { IClustersModel } from './tokens';

const RANK = 2.6;

/** A provider whose actions could not be had is asked again, but not for ever. */
const MAX_TRIES = 3;

export interface IActionMenusOptions {
  app: JupyterFrontEnd;
  api: Pick<IApi, 'actions'>;
  model: IClustersModel;
  trans: TranslationBundle;
}

export class ActionMenus {
  constructor(options: IActionMenusOptions) {
    this._options = options;
    options.model.changed.connect(this._onChanged, this);
  }

  private _onChanged(): void {
    const { accounts = [], clusters = [] } = this._options.model.view.state ?? {};
    for (const { provider, account, can } of accounts) {
      const cluster = clusters.find(other => other.account === account);
      const tries = this._tries.get(provider) ?? 0;
      if (cluster && can.includes('actions') && !this._busy.has(provider) && tries < MAX_TRIES) {
        this._busy.add(provider);
        this._tries.set(provider, tries + 1);
        void this._load(provider, cluster);
      }
    }
  }

  private async _load(provider: string, cluster: ICluster): Promise<void> {
    try {
      const { actions } = await this._options.api.actions(cluster);
      this._add(provider, actions);
    } catch (reason) {
      // The menu lacks them until the list changes again.
      this._busy.delete(provider);
      console.warn(`The actions of ${provider} are not known`, reason);
    }
  }

  private _add(provider: string, actions: readonly IAction[]): void {
    const { app, trans } = this._options;
    const menu = new MenuSvg({ commands: app.commands });
    menu.title.label = trans.__('Actions');
    for (const { name: action, title } of actions) {
      menu.addItem({ command: CommandIds.act, args: { action, title } });
    }
    const selector = `.jp-GpuClusters-item[data-kind="cluster"][data-provider=${JSON.stringify(provider)}]`;
    app.contextMenu.addItem({ type: 'submenu', submenu: menu, selector, rank: RANK });
  }

  private readonly _options: IActionMenusOptions;
  /** Providers whose menu is there or being made. */
  private readonly _busy = new Set<string>();
  private readonly _tries = new Map<string, number>();
}
