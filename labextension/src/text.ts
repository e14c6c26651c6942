/** What a row of the sidebar says, as plain values, so that only rows that say something else are redrawn. */

import { TranslationBundle } from '@jupyterlab/translation';

import { IAccount, ICluster, IOrder, IWorkload } from './api';
import {
  endText,
  hasNoEnd,
  isOutcomeUnknown,
  mayCost,
  offersOf,
  overdueDelete,
  serverNow
} from './certainty';
import {
  age,
  ageOf,
  duration,
  extent,
  failure,
  gpus,
  hasEnded,
  ILook,
  lookOf,
  money,
  nodes,
  phaseOf,
  price,
  spent,
  runTime
} from './format';
import { IView } from './tokens';
import { Row } from './tree';

export interface IRowText extends ILook {
  /** Beside or below the name: the phase, or the account's title. */
  readonly word: string;
  /** After the word, where something is not as it should be. */
  readonly alarm: string;
  /** After the word, where there is room for it: nodes and GPUs. */
  readonly detail: string;
  /** At the right edge: price, time, age. */
  readonly meta: string;
  /** All that is known, line by line. */
  readonly tip: string;
  /** The whole row for a screen reader. */
  readonly label: string;
  /** The last look at its account failed: this is what was there before. */
  readonly isStale: boolean;
  /** Why it cannot be deleted, cancelled or closed, `null` if it can. */
  readonly whyNot: string | null;
  /** The buttons of the row, in order, with blanks between them. */
  readonly buttons: string;
}

type Said = ILook &
  Pick<IRowText, 'word' | 'meta' | 'tip'> & { kindWord: string; detail?: string; alarm?: string };

/** @param candidates - how many things were found that may be what an order made */
export function describe(
  row: Row,
  view: IView,
  nowMs: number,
  trans: TranslationBundle,
  candidates = 0
): IRowText {
  const { kindWord, detail = '', alarm = '', ...said } = saidOf(row, view, nowMs, trans);
  const isStale = view.status !== 'ready' || row.account.error !== null;
  const label = [`${kindWord} ${row.name}`, said.word, alarm, detail, said.meta]
    .filter(Boolean)
    .join(', ');
  const buttons = buttonsOf(row, candidates);
  return { ...said, detail, alarm, isStale, label, whyNot: whyNotEnd(row, trans), buttons };
}

function buttonsOf(row: Row, candidates: number): string {
  switch (row.kind) {
    case 'account':
      return '';
    case 'cluster':
      return row.cluster.vanished_at ? 'close' : 'remove';
    case 'workload':
      return 'open remove';
    case 'order':
      return offersOf(row.order, candidates).join(' ');
  }
}

/** Why a cluster cannot be deleted, a workload not cancelled or an order not closed, `null` if it can. */
export function whyNotEnd(row: Row, trans: TranslationBundle): string | null {
  switch (row.kind) {
    case 'cluster':
      return row.cluster.phase === 'deleting' || row.cluster.phase === 'deleted'
        ? trans.__('It is already being deleted.')
        : whyUnable(row.account, 'delete', trans);
    case 'workload':
      return hasEnded(row.workload.phase)
        ? trans.__('It has already ended.')
        : whyUnable(row.account, 'workloads', trans);
    case 'order':
      return isOutcomeUnknown(row.order) ? null : trans.__('Whoever sent it is still at work.');
    case 'account':
      return trans.__('It is an account.');
  }
}

/** Whether the provider of a cluster can do something to it now. */
export function canBeChanged(row: Row | null, ability: string): boolean {
  return (
    row?.kind === 'cluster' &&
    row.cluster.phase !== 'deleting' &&
    row.cluster.phase !== 'deleted' &&
    row.account.can.includes(ability)
  );
}

export function canSuspend(row: Row | null): boolean {
  return (
    row?.kind === 'workload' &&
    row.account.can.includes('suspend') &&
    !hasEnded(row.workload.phase) &&
    row.workload.phase !== 'stopped'
  );
}

export function canResume(row: Row | null): boolean {
  return (
    row?.kind === 'workload' &&
    row.account.can.includes('suspend') &&
    ['stopped', 'stopping', 'unknown'].includes(row.workload.phase)
  );
}

function whyUnable(account: IAccount, ability: string, trans: TranslationBundle): string | null {
  return account.can.includes(ability)
    ? null
    : (account.why_not[ability] ?? trans.__('%1 offers no way to do that.', account.title));
}

function saidOf(row: Row, view: IView, nowMs: number, trans: TranslationBundle): Said {
  switch (row.kind) {
    case 'account':
      return ofAccount(row.account, row.isExpanded === null, view, nowMs, trans);
    case 'cluster':
      return ofCluster(row.cluster, view, nowMs, trans);
    case 'workload':
      return ofWorkload(row.workload, view, nowMs, trans);
    case 'order':
      return ofOrder(row.order, view, nowMs, trans);
  }
}

function ofAccount(
  account: IAccount,
  isEmpty: boolean,
  view: IView,
  nowMs: number,
  trans: TranslationBundle
): Said {
  const seconds = ageOf(account, view, nowMs);
  const seen = seconds === null ? trans.__('not looked at yet') : age(seconds, trans);
  const isPartial = !account.is_complete && account.observed_at !== null;
  const notes = [
    account.error ? trans.__('Could not look: %1', account.error.message) : '',
    account.error?.hint ?? '',
    isPartial
      ? trans.__('The listing is incomplete. Not seen: %1', account.not_seen.join(', '))
      : ''
  ];
  const isGood = !account.error && !isPartial;
  const isKnownEmpty = isEmpty && isGood && seconds !== null;
  return {
    kindWord: trans.__('account'),
    shape: isGood ? 'dot' : 'triangle',
    tone: isGood ? 'quiet' : 'warn',
    word: isKnownEmpty ? trans.__('no clusters') : account.title,
    meta: isPartial ? trans.__('incomplete, %1', seen) : seen,
    tip: lines(`${account.account}: ${account.title}`, trans.__('Looked at: %1', seen), ...notes)
  };
}

function ofCluster(cluster: ICluster, view: IView, nowMs: number, trans: TranslationBundle): Said {
  const atMs = serverNow(view, nowMs);
  const [look, phase] = shownPhase(cluster, view, atMs, trans);
  const size = [nodes(cluster.node_count, trans), gpus(cluster)].filter(Boolean).join(' · ');
  const cost = price(cluster, trans);
  const end = endText(cluster, atMs, trans);
  const isAlarming = hasNoEnd(cluster);
  return {
    ...look,
    kindWord: trans.__('cluster'),
    word: phase,
    alarm: isAlarming ? end : '',
    detail: isAlarming || !end ? size : `${size} · ${end}`,
    meta: [spent(cluster, trans), cost].filter(Boolean).join(' · '),
    tip: lines(
      cluster.full_name,
      `${phase}${ownWord(cluster)}`,
      cluster.reason,
      size,
      trans.__('Price: %1', cost),
      spent(cluster, trans) && trans.__('Cost so far (estimate): %1', spent(cluster, trans)),
      cluster.is_free ? null : billing(cluster, trans),
      cluster.region && trans.__('Region: %1', cluster.region),
      cluster.ends_at && trans.__('Ends: %1', new Date(cluster.ends_at).toLocaleString()),
      cluster.created_here ? null : trans.__('Not created here')
    )
  };
}

/** The phase in words; what went by itself and what does not go have words of their own. */
export function shownPhase(
  cluster: ICluster,
  view: IView,
  atMs: number,
  trans: TranslationBundle
): [ILook, string] {
  if (cluster.vanished_at !== null) {
    return [{ shape: 'question', tone: 'warn' }, trans.__('vanished')];
  }
  if (view.state && overdueDelete(cluster, view.state, atMs)) {
    return [{ shape: 'triangle', tone: 'warn' }, trans.__('deleting, not confirmed')];
  }
  return [lookOf(cluster.phase), phaseOf(cluster, trans)];
}

function billing(cluster: ICluster, trans: TranslationBundle): string {
  switch (cluster.billing) {
    case 'yes':
      return trans.__('It costs money now');
    case 'no':
      return trans.__('It costs nothing now');
    case 'unknown':
      return trans.__('Whether it costs money now is unknown');
  }
}

function ofWorkload(
  workload: IWorkload,
  view: IView,
  nowMs: number,
  trans: TranslationBundle
): Said {
  const phase = phaseOf(workload, trans);
  const why = failure(workload, trans);
  const seconds = view.state && runTime(workload, view.state, nowMs - view.receivedAt);
  const time = seconds === null ? '' : duration(seconds, trans);
  return {
    ...lookOf(workload.phase),
    kindWord: trans.__('workload'),
    word: phase,
    meta: why || time,
    tip: lines(
      workload.full_name,
      `${phase}${ownWord(workload)}`,
      workload.reason,
      why,
      time && trans.__('Run time: %1', time),
      extent(workload, trans),
      workload.command.join(' ').slice(0, 300)
    )
  };
}

function ofOrder(order: IOrder, view: IView, nowMs: number, trans: TranslationBundle): Said {
  const since = age((serverNow(view, nowMs) - Date.parse(order.created_at)) / 1000, trans);
  const outcome = isOutcomeUnknown(order) ? trans.__('outcome unknown') : trans.__('being sent');
  const cost = mayCost(order.price_per_hour, trans);
  return {
    ...(isOutcomeUnknown(order) ? lookOf('unknown') : lookOf('pending')),
    kindWord: trans.__('order'),
    word: trans.__('%1: %2', order.verb, outcome),
    alarm: order.on_sight ? trans.__('to be deleted on sight') : '',
    meta: cost,
    tip: lines(
      trans.__('A %1 of “%2” was sent %3; %4.', order.verb, order.name, since, outcome),
      order.note,
      cost,
      order.on_sight ? trans.__('It is deleted as soon as it shows.') : null,
      trans.__('Order %1', order.order_id)
    )
  };
}

/** The provider's word, where ours is another. */
function ownWord(thing: ICluster | IWorkload): string {
  return thing.provider_state && thing.provider_state.toLowerCase() !== thing.phase
    ? ` (${thing.provider_state})`
    : '';
}

function lines(...parts: (string | null | undefined)[]): string {
  return parts.filter(Boolean).join('\n');
}

/** A cluster in the words of the dialog that deletes it. */
export function costSentence(cluster: ICluster, trans: TranslationBundle): string {
  if (cluster.is_free) {
    return trans.__('It is free.');
  }
  return cluster.price_per_hour !== null && Number(cluster.price_per_hour.amount) > 0
    ? trans.__('It costs %1 per hour.', money(cluster.price_per_hour))
    : trans.__('Its price is unknown.');
}
