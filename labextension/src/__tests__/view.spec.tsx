import { nullTranslator } from '@jupyterlab/translation';
import { act, fireEvent, render, screen } from '@testing-library/react';
import * as React from 'react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Actions } from '../actions';
import { IApi } from '../api';
import { IDialogs } from '../dialogs';
import { TYPE_AHEAD_MS } from '../list';
import { Outline } from '../outline';
import { IView } from '../tokens';
import { ClustersView } from '../view';
import { account, cluster, NOW, order, state, ToldModel, view, workload } from './make';

const trans = nullTranslator.load('test');
const demo = cluster('demo');
const FULL = state({
  accounts: [account()],
  clusters: [
    demo,
    cluster('zeta', { is_free: false, price_per_hour: { amount: '5.2', currency: 'USD' } })
  ],
  workloads: [
    workload(demo, 'train', { submitted_at: '2026-11-30T11:00:00Z' }),
    workload(demo, 'tune', {
      submitted_at: '2026-11-30T10:00:00Z',
      phase: 'failed',
      exit_code: 3,
      first_failed_rank: 1
    })
  ]
});

/** What the page asked to be done with rows, by their keys. */
let asked: { open: string[]; remove: string[]; settle: string[] };
let model: ToldModel;
let outline: Outline;

function show(first: IView): void {
  model = new ToldModel(view(null));
  outline = new Outline(model);
  asked = { open: [], remove: [], settle: [] };
  const handlers = {
    activate: (key: string) => outline.activate(key),
    toggle: (key: string) => outline.setExpanded(key, !outline.active?.isExpanded),
    open: (key: string) => asked.open.push(key),
    remove: (key: string) => asked.remove.push(key),
    settle: (key: string, offer: string) => asked.settle.push(`${offer} ${key}`),
    create: () => undefined
  };
  const recovery = { candidatesOf: () => null };
  const actions = new Actions({ api: {} as IApi, model, dialogs: {} as IDialogs, trans });
  render(<ClustersView isVisible {...{ model, outline, actions, recovery, handlers, trans }} />);
  act(() => model.show(first));
}

const items = () => screen.getAllByRole('treeitem');
const names = () => items().map(item => item.querySelector('.jp-GpuClusters-name')?.textContent);
const focused = () => document.activeElement?.querySelector('.jp-GpuClusters-name')?.textContent;

function press(...keys: string[]): void {
  for (const key of keys) {
    fireEvent.keyDown(document.activeElement ?? document.body, { key });
  }
}

function focusFirst(): void {
  act(() => items()[0]?.focus());
}

beforeEach(() => {
  // jsdom lays nothing out: the list is as high as ten lines of 24 pixels.
  vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(240);
});

afterEach(() => vi.restoreAllMocks());

describe('a list', () => {
  it('says of each row what it is, its phase in words, its size and its price', () => {
    show(view(FULL));
    const labels = items().map(item => item.getAttribute('aria-label'));
    expect(labels.slice(1, 4)).toEqual([
      'cluster demo, running, 2 nodes, free',
      'workload train, running, 0 s',
      'workload tune, failed, rank 1: exit 3'
    ]);
    expect(labels[4]).toBe('cluster zeta, running, 2 nodes, 5.20 USD/h');
    expect(labels[0]).toMatch(/^account local, This machine, \d+ s ago$/);
  });

  it('tells a screen reader level, place and folding of each row', () => {
    show(view(FULL));
    const told = items().map(item =>
      ['level', 'posinset', 'setsize', 'expanded'].map(name => item.getAttribute(`aria-${name}`))
    );
    expect(told).toEqual([
      ['1', '1', '1', 'true'],
      ['2', '1', '2', 'true'],
      ['3', '1', '2', null],
      ['3', '2', '2', null],
      ['2', '2', '2', null]
    ]);
  });

  it('of ten thousand rows draws those in sight, and the active one wherever it is', () => {
    const clusters = Array.from({ length: 10_000 }, (_, i) =>
      cluster(`c${String(i).padStart(5, '0')}`)
    );
    show(view(state({ clusters })));
    expect(items().length).toBeLessThan(30);
    focusFirst();
    press('End');
    expect(focused()).toBe('c09999');
    expect(items().length).toBeLessThan(30);
    fireEvent.scroll(screen.getByRole('tree'), { target: { scrollTop: 0 } });
    expect(names()).toContain('c00000');
    expect(focused()).toBe('c09999');
  });

  it('redraws no row that says the same after a refresh', () => {
    show(view(FULL));
    const before = items().map(item => item.outerHTML);
    const changed = workload(demo, 'train', {
      submitted_at: '2026-11-30T11:00:00Z',
      phase: 'succeeded'
    });
    const next = { ...FULL, workloads: [changed, ...FULL.workloads.slice(1)] };
    const records: MutationRecord[] = [];
    const observer = new MutationObserver(list => records.push(...list));
    observer.observe(screen.getByRole('tree'), {
      subtree: true,
      attributes: true,
      childList: true,
      characterData: true
    });
    act(() => model.show(view(next)));
    records.push(...observer.takeRecords());
    observer.disconnect();
    const touched = new Set(
      records.map(({ target }) => target.parentElement?.closest('[role=treeitem]') ?? target)
    );
    const rowsTouched = [...touched].filter(node => items().some(item => item.contains(node)));
    expect(rowsTouched.every(node => items()[2]?.contains(node))).toBe(true);
    expect(items()[2]?.outerHTML).not.toBe(before[2]);
  });
});

describe('the keyboard', () => {
  beforeEach(() => {
    show(view(FULL));
    focusFirst();
  });

  it('has one stop in the tree', () => {
    expect(items().map(item => item.tabIndex)).toEqual([0, -1, -1, -1, -1]);
    press('ArrowDown');
    expect(items().map(item => item.tabIndex)).toEqual([-1, 0, -1, -1, -1]);
  });

  it('moves up and down, to the ends, and not beyond', () => {
    press('ArrowUp');
    expect(focused()).toBe('local');
    press('ArrowDown', 'ArrowDown');
    expect(focused()).toBe('train');
    press('End', 'ArrowDown');
    expect(focused()).toBe('zeta');
    press('Home');
    expect(focused()).toBe('local');
  });

  it('folds to the left, unfolds to the right, and goes to parent and child', () => {
    press('ArrowDown', 'ArrowLeft');
    expect(names()).toEqual(['local', 'demo', 'zeta']);
    press('ArrowRight');
    expect(names()).toHaveLength(5);
    press('ArrowRight');
    expect(focused()).toBe('train');
    press('ArrowLeft');
    expect(focused()).toBe('demo');
  });

  it('stays on an account that is folded already', () => {
    press('ArrowLeft', 'ArrowLeft');
    expect([focused(), names()]).toEqual(['local', ['local']]);
  });

  it('finds a row by the first letters of its name, and the next one by the same letter', async () => {
    press('t', 'u');
    expect(focused()).toBe('tune');
    press('Home');
    await new Promise(resolve => setTimeout(resolve, TYPE_AHEAD_MS + 100));
    press('t');
    expect(focused()).toBe('train');
    press('t');
    expect(focused()).toBe('tune');
  });

  it('opens with Enter and removes with Delete', () => {
    press('ArrowDown', 'ArrowDown', 'Enter', 'Delete');
    expect(asked).toMatchObject({
      open: ['local/id-demo/w-train'],
      remove: ['local/id-demo/w-train']
    });
  });

  it('leaves keys with a modifier to JupyterLab', () => {
    const isFree = fireEvent.keyDown(document.activeElement ?? document.body, {
      key: 'ArrowDown',
      ctrlKey: true
    });
    expect([isFree, focused()]).toEqual([true, 'local']);
  });

  it('keeps the focus in place when its row goes away', () => {
    press('ArrowDown', 'ArrowDown');
    act(() => model.show(view({ ...FULL, workloads: FULL.workloads.slice(1) })));
    expect(focused()).toBe('tune');
  });

  it('keeps the focus on its row when others come before it', () => {
    press('ArrowDown', 'ArrowDown');
    act(() => model.show(view({ ...FULL, clusters: [...FULL.clusters, cluster('aaa')] })));
    expect(focused()).toBe('train');
  });

  it('does not take the focus from elsewhere at a refresh', () => {
    act(() => (document.activeElement as HTMLElement).blur());
    act(() => model.show(view({ ...FULL, workloads: [] })));
    expect(document.activeElement).toBe(document.body);
  });
});

describe('the buttons of a row', () => {
  it('have names, and ask for what they say', () => {
    show(view(FULL));
    fireEvent.click(screen.getByLabelText('Delete cluster zeta…'));
    fireEvent.click(screen.getByLabelText('Show the log of train'));
    expect(asked).toMatchObject({ open: ['local/id-demo/w-train'], remove: ['local/id-zeta'] });
  });

  it('of an order settle it, and are off while it is being sent', () => {
    const sending = order('new', { state: 'open', note: null });
    show(view({ ...FULL, orders: [order('lost'), sending] }));
    fireEvent.click(screen.getByLabelText('Check now what became of lost'));
    fireEvent.click(screen.getByLabelText('Delete lost as soon as it shows…'));
    fireEvent.click(screen.getByLabelText('Close lost…'));
    fireEvent.click(screen.getByLabelText('Close new…'));
    const key = 'local/order:o-lost';
    expect(asked.settle).toEqual([`check ${key}`, `delete ${key}`, `close ${key}`]);
    expect(screen.queryByLabelText('Adopt what was made of lost…')).toBeNull();
  });

  it('of a cluster that vanished close it', () => {
    show(view(state({ clusters: [cluster('gone', { vanished_at: NOW })] })));
    fireEvent.click(screen.getByLabelText('Close gone…'));
    expect(asked.settle).toEqual(['close local/id-gone']);
    expect(items()[1]?.dataset.vanished).toBe('true');
  });

  it('do nothing where it cannot be done, and say why', () => {
    const why = 'Clusters of Run:ai exist already.';
    show(view({ ...FULL, accounts: [account({ can: ['workloads'], why_not: { delete: why } })] }));
    const button = screen.getByLabelText('Delete cluster zeta…');
    fireEvent.click(button);
    expect([button.getAttribute('aria-disabled'), asked.remove]).toEqual(['true', []]);
    expect(button.title).toContain(why);
  });

  it('cannot cancel what has ended', () => {
    show(view(FULL));
    fireEvent.click(screen.getByLabelText('Cancel workload tune…'));
    expect(asked.remove).toEqual([]);
  });
});

describe('where there is no list', () => {
  it('says that it is looking', () => {
    show(view(null));
    expect(screen.getByRole('status').textContent).toContain('Looking');
  });

  it('says how to make a cluster when there is none', () => {
    show(view(state()));
    expect(document.body.textContent).toMatch(/No clusters/);
    expect(document.body.textContent).toMatch(/%cluster_create local --name demo --nodes 2/);
  });

  it('does not say that there is none when it could not look', () => {
    const error = { message: 'No route to host.', hint: null, code: 'transport' };
    show(view(state({ accounts: [account({ error, observed_at: null, age_s: null })] })));
    expect(document.body.textContent).not.toMatch(/No clusters/i);
    expect(document.body.textContent).toMatch(
      /Could not look at local\. What runs there is not known\..*No route/
    );
  });

  it('names the missing server part, and how to check it', () => {
    show(view(null, { status: 'missing' }));
    expect(screen.getByRole('alert').textContent).toContain('jupyter server extension list');
  });

  it('gives the reason of a failure with a way to try again', () => {
    const failure = { message: 'The journal is locked.', hint: 'Wait a little.' };
    show(view(null, { status: 'failed', failure }));
    expect(screen.getByRole('alert').textContent).toMatch(
      /The journal is locked\..*Wait a little\./
    );
    fireEvent.click(screen.getByText('Try again'));
    expect(model.refreshes).toBe(1);
  });
});

describe('after a failure', () => {
  it('the last good list stays, marked as old, with its age and the reason', () => {
    show(view(FULL));
    const receivedAt = performance.now() - 90_000;
    const failure = { message: 'The Jupyter server could not be reached.', hint: null };
    act(() => model.show(view(FULL, { status: 'failed', failure, receivedAt })));
    expect(items().every(item => item.dataset.stale === 'true')).toBe(true);
    expect(screen.getByRole('status').textContent).toMatch(
      /This list came 1 min ago\. The Jupyter server could/
    );
  });

  it('of one account only its rows are marked, with its age', () => {
    const error = { message: '502 Bad Gateway.', hint: null, code: 'provider' };
    const far = cluster('far', { account: 'cloud' });
    const accounts = [account(), account({ account: 'cloud', error, age_s: 185 })];
    show(
      view(
        { ...FULL, accounts, clusters: [demo, far], workloads: [] },
        { receivedAt: performance.now() }
      )
    );
    expect(items().map(item => item.dataset.stale)).toEqual([undefined, undefined, 'true', 'true']);
    expect(screen.getByRole('status').textContent).toMatch(
      /Could not look at cloud\. .*seen 3 min ago/
    );
  });

  it('what everybody should know stands above the list', () => {
    show(view({ ...FULL, notices: ['A damaged journal was set aside.'] }));
    expect(screen.getByRole('status').textContent).toContain('A damaged journal was set aside.');
  });

  it('a delete that is not confirmed for long stands above the list with its reason', () => {
    const going = cluster('going', { phase: 'deleting', reason: 'It may bill on.' });
    const wish = order('going', {
      verb: 'delete',
      target_id: going.cluster_id,
      created_at: '2026-11-30T11:00:00Z'
    });
    show(view(state({ clusters: [going], orders: [wish] })));
    expect(screen.getByRole('status').textContent).toContain(
      'local/going is still not confirmed gone. It may bill on.'
    );
  });

  it('a server part of another version is named', () => {
    show(view(FULL, { otherVersion: '9.9.9' }));
    expect(screen.getByRole('status').textContent).toContain('9.9.9');
  });
});
