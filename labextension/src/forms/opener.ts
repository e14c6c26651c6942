/**
 * Opens forms in the main area; the code that draws them is loaded with the first one.
 *
 * One tab for each thing that is being filled in. They are not restored after a reload: nothing of them is stored.
 */

import { JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget, showErrorMessage } from '@jupyterlab/apputils';
import { INotebookTracker, NotebookActions } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { IAccount, IApi } from '../api';
import { clusterIcon } from '../icons';
import { IClustersModel } from '../tokens';
import { ISent } from './answers';
import { Target, targetKey } from './target';
import type { FormWidget } from './view';

export interface IFormOpenerOptions {
  app: JupyterFrontEnd;
  api: IApi;
  model: IClustersModel;
  notebooks: INotebookTracker | null;
  show(sent: ISent): Promise<void>;
  trans: TranslationBundle;
}

export class FormOpener {
  constructor(options: IFormOpenerOptions) {
    this._options = options;
  }

  /** Open the form, or show the one that is being filled in already. */
  async open(target: Target): Promise<void> {
    const { shell } = this._options.app;
    const key = targetKey(target);
    const found = this._open.get(key);
    if (found?.content.draft.sent === null) {
      shell.activateById(found.id);
      return;
    }
    if (this._opening.has(key)) {
      return;
    }
    this._opening.add(key);
    try {
      const accounts = await this._accounts();
      if (target.kind === 'create' && accounts.length === 0) {
        await this._sayThereAreNone();
      } else {
        this._show(key, await this._create(target, accounts));
      }
    } finally {
      this._opening.delete(key);
    }
  }

  private _show(key: string, widget: MainAreaWidget<FormWidget>): void {
    const { shell } = this._options.app;
    this._open.set(key, widget);
    widget.disposed.connect(() => {
      if (this._open.get(key) === widget) {
        this._open.delete(key);
      }
    });
    shell.add(widget, 'main', { type: 'GPU Clusters form' });
    shell.activateById(widget.id);
  }

  /** The accounts that can create clusters. */
  private async _accounts(): Promise<IAccount[]> {
    const { model } = this._options;
    if (model.view.state === null) {
      await model.refresh();
    }
    return (model.view.state?.accounts ?? []).filter(({ can }) => can.includes('create'));
  }

  private async _sayThereAreNone(): Promise<void> {
    const { model, trans } = this._options;
    const why = model.view.failure?.message ?? trans.__('None of your accounts rents clusters.');
    await showErrorMessage(trans.__('There is no account to create a cluster with'), why);
  }

  private async _create(target: Target, accounts: IAccount[]): Promise<MainAreaWidget<FormWidget>> {
    const { api, model, show, trans } = this._options;
    const [{ FormWidget: Content, titleOf }, { Draft }] = await Promise.all([
      import('./view'),
      import('./draft')
    ]);
    const draft = new Draft({ api, target, accounts: accounts.map(({ account }) => account) });
    draft.delivered.connect(() => void model.refresh());
    const insertCell = (text: string) => this._insertCell(text);
    const content = new Content(draft, {
      accounts,
      show: sent => void show(sent),
      insertCell,
      trans
    });
    const widget = new MainAreaWidget({ content });
    widget.id = `jupyter-gpu-clusters-form-${this._count++}`;
    widget.title.label = titleOf(target, trans);
    widget.title.icon = clusterIcon;
    widget.title.closable = true;
    widget.toolbar.hide();
    return widget;
  }

  private _insertCell(text: string): boolean {
    const notebook = this._options.notebooks?.currentWidget;
    if (!notebook) {
      return false;
    }
    NotebookActions.insertBelow(notebook.content);
    notebook.content.activeCell?.model.sharedModel.setSource(text.replace(/\n$/, ''));
    return true;
  }

  private readonly _options: IFormOpenerOptions;
  private readonly _open = new Map<string, MainAreaWidget<FormWidget>>();
  private readonly _opening = new Set<string>();
  private _count = 0;
}
