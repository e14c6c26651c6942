import { describe, expect, it } from 'vitest';

import { IState } from '../api';
import { buildRows, clusterKey, ITreeOptions, Row } from '../tree';
import { account, cluster, order, state, workload } from './make';

const demo = cluster('demo');
const FULL = state({
  accounts: [account(), account({ account: 'cloud', title: 'Cloud' })],
  clusters: [cluster('node10'), cluster('node2'), demo, cluster('far', { account: 'cloud' })],
  workloads: [
    workload(demo, 'first', { phase: 'succeeded', submitted_at: '2026-11-30T10:00:00Z' }),
    workload(demo, 'second', { submitted_at: '2026-11-30T11:00:00Z' })
  ]
});

function rows(of: IState = FULL, options: Partial<ITreeOptions> = {}): Row[] {
  return buildRows(of, { collapsed: new Set(), showFinished: true, ...options });
}

const outline = (all: Row[]) => all.map(row => '  '.repeat(row.level - 1) + row.name);

describe('buildRows', () => {
  it('lists accounts as they come, clusters by name, workloads newest first', () => {
    expect(outline(rows())).toEqual([
      'local',
      '  demo',
      '    second',
      '    first',
      '  node2',
      '  node10',
      'cloud',
      '  far'
    ]);
  });

  it('numbers siblings and names parents', () => {
    const places = rows().map(({ name, position, setSize, parent }) => [
      name,
      position,
      setSize,
      parent
    ]);
    expect(places.slice(0, 3)).toEqual([
      ['local', 1, 2, null],
      ['demo', 1, 3, 'local'],
      ['second', 1, 2, clusterKey(demo)]
    ]);
  });

  it('hides what is folded, and only what has children can be folded', () => {
    expect(outline(rows(FULL, { collapsed: new Set(['local']) }))).toEqual([
      'local',
      'cloud',
      '  far'
    ]);
    const folds = new Map(rows().map(row => [row.name, row.isExpanded]));
    expect([folds.get('demo'), folds.get('node2'), folds.get('second')]).toEqual([
      true,
      null,
      null
    ]);
  });

  it('leaves out what has ended if that is wished', () => {
    expect(outline(rows(FULL, { showFinished: false }))).not.toContain('    first');
  });

  it('shows an order whose outcome is unknown, but not a delete, which is a phase', () => {
    const orders = [order('lost'), order('demo', { verb: 'delete' })];
    const shown = rows(state({ orders })).filter(({ kind }) => kind === 'order');
    expect(shown.map(({ name }) => name)).toEqual(['lost']);
  });

  it('keeps apart what has the same id in two accounts', () => {
    const twins = state({
      accounts: [account({ account: 'a' }), account({ account: 'b' })],
      clusters: [cluster('x', { account: 'a' }), cluster('x', { account: 'b' })],
      workloads: [workload(cluster('x', { account: 'b' }), 'w')]
    });
    expect(outline(rows(twins))).toEqual(['a', '  x', 'b', '  x', '    w']);
    expect(new Set(rows(twins).map(({ key }) => key)).size).toBe(5);
  });
});
