import { nullTranslator } from '@jupyterlab/translation';
import { describe, expect, it } from 'vitest';

import {
  age,
  ageOf,
  duration,
  extent,
  failure,
  gpus,
  lookOf,
  money,
  phaseOf,
  price,
  runTime,
  spent
} from '../format';
import { account, cluster, state, view, workload } from './make';

const trans = nullTranslator.load('test');
const PHASES = [
  'creating',
  'pending',
  'running',
  'degraded',
  'stopping',
  'deleting',
  'stopped',
  'deleted',
  'succeeded',
  'failed',
  'cancelled',
  'unknown'
];

describe('phases', () => {
  it('that mean different things never differ by colour alone', () => {
    const tonesOfShape = new Map<string, Set<string>>();
    for (const phase of PHASES) {
      const { shape, tone } = lookOf(phase);
      tonesOfShape.set(shape, (tonesOfShape.get(shape) ?? new Set()).add(tone));
    }
    expect([...tonesOfShape.values()].every(tones => tones.size === 1)).toBe(true);
  });

  it('that we do not know look unknown, and keep their own word', () => {
    expect(lookOf('hibernating')).toEqual(lookOf('unknown'));
    const odd = cluster('a', { phase: 'unknown', provider_state: 'Hibernating' });
    expect(phaseOf(odd, trans)).toBe('Hibernating');
  });
});

describe('times', () => {
  it.each([
    [0.4, '0 s'],
    [59.9, '59 s'],
    [60, '1 min'],
    [3599, '59 min'],
    [3900, '1 h 05 min'],
    [90_000, '1 d 1 h'],
    [-5, '0 s']
  ])('%d seconds are %s', (seconds, text) => {
    expect(duration(seconds, trans)).toBe(text);
  });

  it('of an age say "ago"', () => {
    expect(age(12.7, trans)).toBe('12 s ago');
    expect(age(0.9, trans)).toBe('just now');
  });

  it('of an account go on from what the server said, whatever the clocks', () => {
    const shown = view(state(), { receivedAt: 10_000 });
    expect(ageOf(account({ age_s: 3 }), shown, 14_000)).toBe(7);
    expect(ageOf(account({ age_s: null }), shown, 14_000)).toBeNull();
  });

  it('of a running workload go on from the clock of the server', () => {
    const running = workload(cluster('c'), 'w', { started_at: '2026-11-30T11:59:00Z' });
    expect(runTime(running, state(), 2000)).toBe(62);
    const ended = { ...running, finished_at: '2026-11-30T11:59:30Z' };
    expect(runTime(ended, state(), 2000)).toBe(30);
    expect(runTime({ ...running, started_at: null }, state(), 0)).toBeNull();
  });
});

describe('money', () => {
  it.each([
    ['12', '12.00 USD'],
    ['0.125', '0.125 USD'],
    ['51.920000', '51.92 USD'],
    ['1234.5', '1,234.50 USD']
  ])('%s is %s', (amount, text) => {
    expect(money({ amount, currency: 'USD' })).toBe(text);
  });

  it('is called free only where it is known to be', () => {
    const usd = (amount: string) => ({
      price_per_hour: { amount, currency: 'USD' },
      is_free: false
    });
    expect(price(cluster('a'), trans)).toBe('free');
    expect(price(cluster('a', usd('5.2')), trans)).toBe('5.20 USD/h');
    expect(price(cluster('a', usd('0')), trans)).toBe('price unknown');
    expect(price(cluster('a', usd('-1')), trans)).toBe('price unknown');
    expect(price(cluster('a', usd('NaN')), trans)).toBe('price unknown');
    expect(price(cluster('a', { is_free: false }), trans)).toBe('price unknown');
  });
});

describe('what was spent', () => {
  const usd = (amount: string, high = amount) => ({
    currency: 'USD',
    amount,
    amount_high: high
  });

  it('is an estimate, each currency by itself', () => {
    const inr = { currency: 'INR', amount: '900', amount_high: '900' };
    expect(spent(cluster('a', { spent: [usd('12.3456')] }), trans)).toBe('≈ 12.35 USD');
    expect(spent(cluster('a', { spent: [usd('12'), inr] }), trans)).toBe(
      '≈ 12.00 USD, ≈ 900.00 INR'
    );
  });

  it('says how much it may be where billing is not known', () => {
    expect(spent(cluster('a', { spent: [usd('1', '3')] }), trans)).toBe('up to 3.00 USD');
    const unknown = { currency: null, amount: null, amount_high: null };
    expect(spent(cluster('a', { spent: [unknown] }), trans)).toBe('an unknown amount');
  });

  it('says nothing of nothing', () => {
    expect(spent(cluster('a'), trans)).toBe('');
    expect(spent(cluster('a', { spent: [usd('0')] }), trans)).toBe('');
  });
});

describe('sizes and failures', () => {
  it('count GPUs of all nodes, and say nothing where there are none', () => {
    expect(gpus(cluster('a', { node_count: 2, gpus_per_node: 8, gpu_type: 'H100' }))).toBe(
      '16 × H100'
    );
    expect(gpus(cluster('a'))).toBe('');
  });

  it('name nodes and processes', () => {
    const c = cluster('c');
    expect(extent(workload(c, 'w'), trans)).toBe('2 nodes × 2 processes');
    expect(extent(workload(c, 'w', { nodes: 1, procs_per_node: null }), trans)).toBe('1 node');
  });

  it.each([
    [{ exit_code: 3, first_failed_rank: 1 }, 'rank 1: exit 3'],
    [{ exit_code: -9, first_failed_rank: 0 }, 'rank 0: signal 9'],
    [{ exit_code: 1 }, 'exit 1'],
    [{ exit_code: 0 }, ''],
    [{}, '']
  ])('%o is "%s"', (change, text) => {
    expect(failure(workload(cluster('c'), 'w', change), trans)).toBe(text);
  });
});
