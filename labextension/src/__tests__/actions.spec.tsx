import { nullTranslator } from '@jupyterlab/translation';
import { Dialog } from '@jupyterlab/apputils';
import { PromiseDelegate } from '@lumino/coreutils';
import { fireEvent } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { Actions } from '../actions';
import { Api } from '../api';
import { Dialogs } from '../dialogs';
import { account, cluster, state, ToldModel, until, view, workload } from './make';
import { IAnswer, TestServer } from './server';

const trans = nullTranslator.load('test');
const paid = cluster('demo', {
  is_free: false,
  price_per_hour: { amount: '51.92', currency: 'USD' }
});
const train = workload(paid, 'train');
const LIST = state({
  clusters: [paid],
  workloads: [train, workload(paid, 'earlier', { phase: 'succeeded' })]
});

let server: TestServer;
let model: ToldModel;
let actions: Actions;

beforeEach(async () => {
  server = await TestServer.start();
  server.answer = () => ({
    body: { cluster: paid, is_gone: true, note: null, workload: train, left_over: [] }
  });
  model = new ToldModel(view(LIST));
  actions = new Actions({
    api: new Api(server.settings()),
    model,
    dialogs: new Dialogs(trans),
    trans
  });
});

afterEach(async () => {
  Dialog.flush();
  await until(() => dialogs().length === 0);
  await server.stop();
});

const dialogs = () => [...document.querySelectorAll<HTMLElement>('.jp-Dialog')];
const text = () => dialogs()[0]?.textContent ?? '';
const buttons = () => [...document.querySelectorAll<HTMLButtonElement>('.jp-Dialog-footer button')];

function press(key: string): void {
  fireEvent.keyDown(document.activeElement ?? document.body, { key });
}

async function dialogWith(words: string): Promise<void> {
  await until(() => text().includes(words) && document.activeElement?.tagName === 'BUTTON');
}

function choose(label: string): void {
  const button = buttons().find(({ textContent }) => textContent === label);
  expect(button).toBeDefined();
  button?.click();
}

describe('deleting a cluster', () => {
  it('names the cluster, what ends with it and its price, and puts the focus on Cancel', async () => {
    void actions.deleteCluster(paid);
    await dialogWith('local/demo');
    expect(text()).toContain('It costs 51.92 USD per hour.');
    expect(text()).toContain('train (running)');
    expect(text()).not.toContain('earlier');
    expect(document.activeElement?.textContent).toBe('Cancel');
  });

  it('says "free" only of what is free, and "unknown" of a price nobody knows', async () => {
    void actions.deleteCluster(cluster('gratis'));
    await dialogWith('It is free.');
    press('Escape');
    await until(() => dialogs().length === 0);
    void actions.deleteCluster(cluster('odd', { is_free: false }));
    await dialogWith('Its price is unknown.');
  });

  it('says when what it shows may be out of date', async () => {
    const error = { message: 'No route to host.', hint: null, code: 'transport' };
    model.show(view({ ...LIST, accounts: [account({ error })] }));
    void actions.deleteCluster(paid);
    await dialogWith('may be out of date: No route to host.');
  });

  it.each(['Enter', 'Escape'])('sends nothing after %s on the dialog as it opens', async key => {
    const done = actions.deleteCluster(paid);
    await dialogWith('local/demo');
    press(key);
    await done;
    expect(server.asked).toEqual([]);
  });

  it('asks once and sends once, however often it is pressed', async () => {
    const hold = new PromiseDelegate<IAnswer>();
    server.answer = () => hold.promise;
    const calls = [actions.deleteCluster(paid), actions.deleteCluster(paid)];
    await dialogWith('local/demo');
    calls.push(actions.deleteCluster(paid));
    expect(dialogs()).toHaveLength(1);
    const go = buttons()[1];
    go?.click();
    go?.click();
    await until(() => server.asked.length === 1);
    calls.push(actions.deleteCluster(paid));
    expect(actions.isBusy('local/id-demo')).toBe(true);
    expect(dialogs()).toHaveLength(0);
    hold.resolve({ body: { cluster: paid, is_gone: true, note: null } });
    await Promise.all(calls);
    expect(server.asked).toEqual(['DELETE /gpu-clusters/clusters/local/id-demo']);
    expect(actions.isBusy('local/id-demo')).toBe(false);
  });

  it('looks again afterwards', async () => {
    const done = actions.deleteCluster(paid);
    await dialogWith('local/demo');
    choose('Delete');
    await done;
    expect(model.refreshes).toBe(1);
  });

  it('tells a refusal with its hint', async () => {
    server.answer = () => ({
      status: 409,
      body: { message: 'It is locked.', code: 'conflict', hint: 'Unlock it.' }
    });
    void actions.deleteCluster(paid);
    await dialogWith('local/demo');
    choose('Delete');
    await dialogWith('That did not work');
    expect(text()).toMatch(/It is locked\..*Unlock it\./);
  });

  it('is calm when another tab was faster', async () => {
    server.answer = () => ({
      status: 404,
      body: { message: 'No such cluster.', code: 'not_found' }
    });
    const done = actions.deleteCluster(paid);
    await dialogWith('local/demo');
    choose('Delete');
    await done;
    expect([dialogs().length, model.refreshes]).toEqual([0, 1]);
  });

  it('does not call a lost answer a failure', async () => {
    server.answer = () => ({
      status: 502,
      body: {
        message: 'The answer was lost.',
        code: 'outcome_unknown',
        hint: 'Look before sending it again.'
      }
    });
    void actions.deleteCluster(paid);
    await dialogWith('local/demo');
    choose('Delete');
    await dialogWith('It is not known whether that happened');
  });
});

describe('cancelling a workload', () => {
  it('asks with the careful answer first, and sends once', async () => {
    const done = Promise.all([actions.cancelWorkload(train), actions.cancelWorkload(train)]);
    await dialogWith('local/demo/train');
    expect(document.activeElement?.textContent).toBe('Keep running');
    choose('Cancel workload');
    await done;
    expect(server.asked).toEqual(['POST /gpu-clusters/workloads/local/id-demo/w-train/cancel']);
  });

  it('names processes that would not end', async () => {
    server.answer = () => ({ body: { workload: train, left_over: ['node-0:4711 python'] } });
    void actions.cancelWorkload(train);
    await dialogWith('local/demo/train');
    choose('Cancel workload');
    await dialogWith('node-0:4711 python');
  });
});
