/** The sidebar as a widget: a toolbar above the view. */

import { CommandToolbarButton, ReactWidget, SidePanel } from '@jupyterlab/ui-components';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Message } from '@lumino/messaging';
import { Panel } from '@lumino/widgets';
import * as React from 'react';

import { Actions } from './actions';
import { CommandIds } from './commandids';
import { clusterIcon } from './icons';
import { IItemHandlers } from './item';
import { Outline } from './outline';
import { Recovery } from './recovery';
import { IClustersModel } from './tokens';
import { ClustersView } from './view';
import { Summary } from './summary';

export interface IPanelOptions {
  commands: CommandRegistry;
  model: IClustersModel;
  outline: Outline;
  actions: Actions;
  recovery: Recovery;
  handlers: IItemHandlers;
  trans: TranslationBundle;
}

export class ClustersPanel extends SidePanel {
  constructor(options: IPanelOptions) {
    super({ content: new Panel() });
    const { commands, trans, model } = options;
    this._model = model;
    this._outline = options.outline;
    this._body = new Body(options);
    this.id = 'jupyter-gpu-clusters-panel';
    this.addClass('jp-GpuClusters');
    this.title.icon = clusterIcon;
    this.title.caption = trans.__('GPU Clusters');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('GPU clusters'));
    const summary = ReactWidget.create(React.createElement(Summary, { model, trans }));
    summary.addClass('jp-GpuClusters-summary');
    this.toolbar.addItem('summary', summary);
    for (const id of [CommandIds.newCluster, CommandIds.toggleFinished, CommandIds.refresh]) {
      this.toolbar.addItem(id, new CommandToolbarButton({ commands, id, label: '' }));
    }
    this.content.addClass('jp-GpuClusters-content');
    this.content.addWidget(this._body);
  }

  /** Make this row the active one, and give it the focus, when the panel is activated next. */
  revealNext(key: string): void {
    this._next = key;
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._setWatched(true);
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this._setWatched(false);
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._setWatched(this.isVisible);
  }

  protected override onBeforeDetach(message: Message): void {
    this._setWatched(false);
    super.onBeforeDetach(message);
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    this.node.querySelector<HTMLElement>('[role=treeitem][tabindex="0"]')?.focus();
    if (this._next !== null) {
      // The focus goes with the active row.
      this._outline.reveal(this._next);
      this._next = null;
    }
  }

  private _setWatched(isWatched: boolean): void {
    this._model.isWatched = isWatched;
    this._body.update();
  }

  private readonly _model: IClustersModel;
  private readonly _outline: Outline;
  private _next: string | null = null;
  private readonly _body: Body;
}

class Body extends ReactWidget {
  constructor(private readonly _options: IPanelOptions) {
    super();
    this.addClass('jp-GpuClusters-body');
  }

  protected override render(): React.ReactElement {
    const { model, outline, actions, recovery, handlers, trans } = this._options;
    const isVisible = model.isWatched;
    return React.createElement(ClustersView, {
      model,
      outline,
      actions,
      recovery,
      handlers,
      trans,
      isVisible
    });
  }
}
