/** How things are said: phases, ages, money, counts. Pure functions; no state, no DOM. */

import { TranslationBundle } from '@jupyterlab/translation';

import { ClusterPhase, IAccount, ICluster, IMoney, IState, IWorkload, WorkloadPhase } from './api';
import { IView } from './tokens';

/** The shape that stands for a phase, so that colour is never alone. */
export type Shape =
  'dot' | 'ring' | 'triangle' | 'half' | 'square' | 'cross' | 'check' | 'slash' | 'question';
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'quiet';

export interface ILook {
  readonly shape: Shape;
  readonly tone: Tone;
}

const LOOKS: Record<ClusterPhase | WorkloadPhase, ILook> = {
  creating: { shape: 'ring', tone: 'busy' },
  pending: { shape: 'ring', tone: 'busy' },
  running: { shape: 'dot', tone: 'good' },
  degraded: { shape: 'triangle', tone: 'warn' },
  stopping: { shape: 'half', tone: 'busy' },
  deleting: { shape: 'half', tone: 'busy' },
  stopped: { shape: 'square', tone: 'quiet' },
  deleted: { shape: 'slash', tone: 'quiet' },
  succeeded: { shape: 'check', tone: 'good' },
  failed: { shape: 'cross', tone: 'bad' },
  cancelled: { shape: 'slash', tone: 'quiet' },
  unknown: { shape: 'question', tone: 'warn' }
};

export function lookOf(phase: string): ILook {
  return (LOOKS as Partial<Record<string, ILook>>)[phase] ?? LOOKS.unknown;
}

const ENDED: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled']);

/** Whether a workload will never change again. */
export function hasEnded(phase: string): boolean {
  return ENDED.has(phase);
}

export function phaseWord(phase: string, trans: TranslationBundle): string {
  const words: Partial<Record<string, string>> = {
    creating: trans.__('creating'),
    pending: trans.__('pending'),
    running: trans.__('running'),
    degraded: trans.__('degraded'),
    stopping: trans.__('stopping'),
    deleting: trans.__('deleting'),
    stopped: trans.__('stopped'),
    deleted: trans.__('deleted'),
    succeeded: trans.__('succeeded'),
    failed: trans.__('failed'),
    cancelled: trans.__('cancelled'),
    unknown: trans.__('unknown')
  };
  return words[phase] ?? phase;
}

/** The phase; where we have no word for it, the provider's own. */
export function phaseOf(thing: ICluster | IWorkload, trans: TranslationBundle): string {
  return thing.phase === 'unknown' && thing.provider_state
    ? thing.provider_state
    : phaseWord(thing.phase, trans);
}

/** A length of time in its one or two largest units: `42 s`, `3 min`, `2 h 05 min`, `4 d 3 h`. */
export function duration(seconds: number, trans: TranslationBundle): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) {
    return trans.__('%1 s', s);
  }
  const minutes = Math.floor(s / 60);
  if (minutes < 60) {
    return trans.__('%1 min', minutes);
  }
  const hours = Math.floor(minutes / 60);
  if (hours < 24) {
    return trans.__('%1 h %2 min', hours, String(minutes % 60).padStart(2, '0'));
  }
  return trans.__('%1 d %2 h', Math.floor(hours / 24), hours % 24);
}

export function age(seconds: number, trans: TranslationBundle): string {
  return seconds < 1 ? trans.__('just now') : trans.__('%1 ago', duration(seconds, trans));
}

/** `12.00 USD`; as many digits as the price has, two at least. */
export function money({ amount, currency }: IMoney): string {
  const digits = amount.split('.')[1]?.replace(/0+$/, '').length ?? 0;
  const text = Number(amount).toLocaleString('en', {
    minimumFractionDigits: 2,
    maximumFractionDigits: Math.min(Math.max(digits, 2), 8)
  });
  return `${text} ${currency}`;
}

/** What a cluster has cost so far, as an estimate; nothing where that is nothing. */
export function spent({ spent: all = [] }: ICluster, trans: TranslationBundle): string {
  return all
    .map(({ currency, amount, amount_high: high }) => {
      if (currency === null || amount === null) {
        return trans.__('an unknown amount');
      }
      const most = Number(high ?? amount);
      const text = money({ amount: most.toFixed(2), currency });
      if (!(most > 0)) {
        return '';
      }
      return most > Number(amount) ? trans.__('up to %1', text) : `≈ ${text}`;
    })
    .filter(Boolean)
    .join(', ');
}

/** What a cluster costs. No price, or a price of zero where nobody says "free", is an unknown price. */
export function price(cluster: ICluster, trans: TranslationBundle): string {
  if (cluster.is_free) {
    return trans.__('free');
  }
  if (cluster.price_per_hour === null || !(Number(cluster.price_per_hour.amount) > 0)) {
    return trans.__('price unknown');
  }
  return trans.__('%1/h', money(cluster.price_per_hour));
}

export function nodes(count: number, trans: TranslationBundle): string {
  return trans._n('%1 node', '%1 nodes', count);
}

/** `16 × H100`, or nothing for a cluster without GPUs. */
export function gpus(cluster: ICluster): string {
  const count = cluster.node_count * cluster.gpus_per_node;
  return count > 0 ? `${count} × ${cluster.gpu_type ?? 'GPU'}` : '';
}

/** Seconds since the account was looked at, `null` if it never was. Independent of the clocks' difference. */
export function ageOf(account: IAccount, view: IView, nowMs: number): number | null {
  return account.age_s === null ? null : account.age_s + (nowMs - view.receivedAt) / 1000;
}

/** How long a workload has been running, or ran; `null` before it started. Measured on the server's clock. */
export function runTime(workload: IWorkload, state: IState, sinceMs: number): number | null {
  if (workload.started_at === null) {
    return null;
  }
  const end = workload.finished_at
    ? Date.parse(workload.finished_at)
    : Date.parse(state.now) + sinceMs;
  return Math.max(0, (end - Date.parse(workload.started_at)) / 1000);
}

/** Why a workload failed, in a few words: `rank 3: exit 1`, `rank 0: signal 9`. */
export function failure(workload: IWorkload, trans: TranslationBundle): string {
  if (workload.exit_code === null || workload.exit_code === 0) {
    return '';
  }
  const code =
    workload.exit_code < 0
      ? trans.__('signal %1', -workload.exit_code)
      : trans.__('exit %1', workload.exit_code);
  return workload.first_failed_rank === null
    ? code
    : trans.__('rank %1: %2', workload.first_failed_rank, code);
}

/** `2 nodes × 4 processes`; without the latter where the command runs once per node. */
export function extent(workload: IWorkload, trans: TranslationBundle): string {
  const count = nodes(workload.nodes, trans);
  return workload.procs_per_node === null
    ? count
    : `${count} × ${trans._n('%1 process', '%1 processes', workload.procs_per_node)}`;
}
