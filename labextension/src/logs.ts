/** Opens the log of a workload in the main area, once, and again after the page was reloaded. */

import { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget, WidgetTracker } from '@jupyterlab/apputils';
import { listIcon } from '@jupyterlab/ui-components';
import { TranslationBundle } from '@jupyterlab/translation';

import { IApi } from './api';
import { CommandIds } from './commandids';
import { createLogControls } from './logtoolbar';
import { ILogTarget, LogView } from './logview';
import { workloadKey } from './tree';

export interface ILogOpenerOptions {
  app: JupyterFrontEnd;
  api: IApi;
  restorer: ILayoutRestorer | null;
  trans: TranslationBundle;
}

export class LogOpener {
  constructor(options: ILogOpenerOptions) {
    this._options = options;
    void options.restorer?.restore(this._tracker, {
      command: CommandIds.showLogs,
      args: ({ content }) => ({ ...content.target }),
      name: ({ content }) => workloadKey(content.target)
    });
  }

  readonly open = (target: ILogTarget): void => {
    const { app } = this._options;
    const key = workloadKey(target);
    const found = this._tracker.find(({ content }) => workloadKey(content.target) === key);
    const widget = found ?? this._create(target);
    if (!widget.isAttached) {
      app.shell.add(widget, 'main', { type: 'Workload log' });
    }
    app.shell.activateById(widget.id);
  };

  private _create(target: ILogTarget): MainAreaWidget<LogView> {
    const { api, trans } = this._options;
    const content = new LogView({ api, target, trans });
    const widget = new MainAreaWidget({ content });
    widget.id = `jupyter-gpu-clusters-log-${workloadKey(target)}`;
    widget.title.label = target.full_name.replace(/^.*\//, '');
    widget.title.caption = trans.__('Log of %1', target.full_name);
    widget.title.icon = listIcon;
    widget.title.closable = true;
    widget.toolbar.addItem('controls', createLogControls(content, trans));
    void this._tracker.add(widget);
    return widget;
  }

  private readonly _options: ILogOpenerOptions;
  private readonly _tracker = new WidgetTracker<MainAreaWidget<LogView>>({
    namespace: 'gpu-clusters-log'
  });
}
