/** The plugins: what they are called, what they need, and how the parts are put together. */

import { ILayoutRestorer, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { ILauncher } from '@jupyterlab/launcher';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator, TranslationBundle } from '@jupyterlab/translation';

import { Actions } from './actions';
import { ActionMenus } from './actionsmenu';
import { Api } from './api';
import { CommandIds } from './commandids';
import { addCommands } from './commands';
import { DetailsOpener } from './details';
import { Dialogs } from './dialogs';
import { addFormCommands } from './formcommands';
import { FormOpener } from './forms/opener';
import { browserStorage, Ledger } from './ledger';
import { LogOpener } from './logs';
import { ClustersModel } from './model';
import { Notifier } from './notifier';
import { OrphansOpener } from './orphans';
import { Outline } from './outline';
import { ClustersPanel } from './panel';
import { Recovery } from './recovery';
import { addRecoveryCommands } from './recoverycommands';
import { RecoveryDialogs } from './recoverydialogs';
import { handlersFor } from './rowhandlers';
import { IClustersModel } from './tokens';
import { clusterKey, workloadKey } from './tree';

const TRANSLATION_DOMAIN = 'jupyter_gpu_clusters';
const SETTINGS_ID = 'jupyter-gpu-clusters:plugin';

const modelPlugin: JupyterFrontEndPlugin<IClustersModel> = {
  id: 'jupyter-gpu-clusters:model',
  description: 'Keeps the list of GPU clusters and workloads up to date.',
  autoStart: true,
  provides: IClustersModel,
  activate: ({ serviceManager }: JupyterFrontEnd) =>
    new ClustersModel({
      api: new Api(serviceManager.serverSettings),
      events: serviceManager.events
    })
};

const sidebarPlugin: JupyterFrontEndPlugin<void> = {
  id: SETTINGS_ID,
  description:
    'GPU clusters and their workloads in the sidebar, with forms, logs, cancel and delete.',
  autoStart: true,
  requires: [IClustersModel],
  optional: [
    ITranslator,
    ILayoutRestorer,
    ICommandPalette,
    ISettingRegistry,
    INotebookTracker,
    ILauncher
  ],
  activate: activateSidebar
};

interface ISidebar {
  app: JupyterFrontEnd;
  api: Api;
  model: IClustersModel;
  outline: Outline;
  actions: Actions;
  trans: TranslationBundle;
}

function activateSidebar(
  app: JupyterFrontEnd,
  model: IClustersModel,
  translator: ITranslator | null,
  restorer: ILayoutRestorer | null,
  palette: ICommandPalette | null,
  settings: ISettingRegistry | null,
  notebooks: INotebookTracker | null,
  launcher: ILauncher | null
): void {
  const trans = (translator ?? nullTranslator).load(TRANSLATION_DOMAIN);
  const api = new Api(app.serviceManager.serverSettings);
  const outline = new Outline(model);
  const dialogs = new Dialogs(trans);
  const actions = new Actions({ api, model, dialogs, trans });
  const recovery = new Recovery({
    api,
    model,
    actions,
    dialogs: new RecoveryDialogs(trans, dialogs),
    trans
  });
  const logs = new LogOpener({ app, api, restorer, trans });
  addCommands(app.commands, {
    model,
    outline,
    actions,
    trans,
    openLog: logs.open,
    showPanel: () => app.shell.activateById(panel.id),
    setShowFinished: keepShowFinished(app, outline, settings)
  });
  const handlers = handlersFor(app.commands, outline);
  const panel = new ClustersPanel({
    commands: app.commands,
    model,
    outline,
    actions,
    recovery,
    handlers,
    trans
  });
  app.shell.add(panel, 'left', { rank: 300, type: 'GPU Clusters' });
  restorer?.add(panel, panel.id);
  actions.changed.connect(() => app.commands.notifyCommandChanged());
  addForms({ app, api, model, outline, actions, trans }, panel, notebooks);
  addRecovery({ app, api, model, outline, actions, trans }, recovery, panel);
  addToPalette(palette, trans);
  launcher?.add({
    command: CommandIds.newCluster,
    args: { isLauncher: true },
    category: trans.__('Other')
  });
}

/** What is not certain: its commands, the table of what nobody ordered, and notifications. */
function addRecovery(sidebar: ISidebar, recovery: Recovery, panel: ClustersPanel): void {
  const { app, model, trans } = sidebar;
  const orphans = new OrphansOpener({ ...sidebar, recovery });
  addRecoveryCommands(app.commands, { ...sidebar, recovery, openOrphans: orphans.open });
  const { baseUrl } = app.serviceManager.serverSettings;
  new Notifier({
    model,
    ledger: new Ledger({ storage: browserStorage(), scope: baseUrl }),
    show: row => {
      panel.revealNext(row);
      app.shell.activateById(panel.id);
    },
    trans
  });
}

/** Forms and details, and the commands that open them. */
function addForms(
  sidebar: ISidebar,
  panel: ClustersPanel,
  notebooks: INotebookTracker | null
): void {
  const { app, model } = sidebar;
  const forms = new FormOpener({
    ...sidebar,
    notebooks,
    show: async ({ cluster, workload }) => {
      await model.refresh();
      panel.revealNext(workload ? workloadKey(workload) : cluster ? clusterKey(cluster) : '');
      app.shell.activateById(panel.id);
    }
  });
  const details = new DetailsOpener(sidebar);
  addFormCommands(app.commands, {
    ...sidebar,
    openForm: target => forms.open(target),
    openDetails: details.open
  });
  new ActionMenus(sidebar);
}

/** Follow the user's setting; returns how to change it. */
function keepShowFinished(
  app: JupyterFrontEnd,
  outline: Outline,
  registry: ISettingRegistry | null
): (value: boolean) => void {
  let store: ISettingRegistry.ISettings | null = null;
  const show = (value: boolean) => {
    outline.showFinished = value;
    app.commands.notifyCommandChanged(CommandIds.toggleFinished);
  };
  const read = (settings: ISettingRegistry.ISettings) =>
    show(settings.get('showFinished').composite !== false);
  registry
    ?.load(SETTINGS_ID)
    .then(settings => {
      store = settings;
      settings.changed.connect(read);
      read(settings);
    })
    .catch((reason: unknown) =>
      console.error(`Settings of ${SETTINGS_ID} could not be read`, reason)
    );
  return value => {
    show(value);
    void store?.set('showFinished', value);
  };
}

function addToPalette(palette: ICommandPalette | null, trans: TranslationBundle): void {
  const category = trans.__('GPU Clusters');
  for (const command of Object.values(CommandIds)) {
    // An action needs to be told which one.
    if (command !== CommandIds.act) {
      palette?.addItem({ command, category });
    }
  }
}

export { IClustersModel } from './tokens';
export default [modelPlugin, sidebarPlugin];
