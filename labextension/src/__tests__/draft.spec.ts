/** A form being filled in: the newest plan counts, agreement is for it alone, and it is sent once. */

import { beforeEach, describe, expect, it, vi } from 'vitest';

import { ABORTED, ApiError, IApi } from '../api';
import { Ask, IAgreement, IPlanned, ISent, Wish } from '../forms/answers';
import { ChoiceLists } from '../forms/choicelists';
import { Draft } from '../forms/draft';
import { cluster } from './make';

interface IAsked {
  wish: Wish;
  signal: AbortSignal;
  answer(planned: IPlanned): void;
  fail(error: ApiError): void;
}

let asked: IAsked[];
let sent: { id: string; agreement: IAgreement }[];
let sending: (sent: ISent | ApiError) => void;
let now: number;
let draft: Draft;

function planned(id: string, ask: Ask = 'price'): IPlanned {
  const plan = {
    verb: 'create',
    provider: 'slow',
    account: 'slow',
    name: 'demo',
    action: null,
    shown: {},
    nodes: 1,
    processes: 0,
    gpus: 8,
    is_free: false,
    price_per_hour: { amount: '6', currency: 'USD' },
    commitment: null,
    confirm: null,
    max_hours: null,
    warnings: []
  };
  const agreement = ask === 'nothing' ? null : 'I agree';
  return { plan_id: id, plan, ask, question: '', agreement, valid_for_s: 120, cell: null };
}

const api = {
  accountForm: () =>
    Promise.resolve({
      account: 'slow',
      title: 'Slow',
      schema: { properties: { name: { type: 'string' }, nodes: { type: 'integer' } } },
      look_ups: {}
    }),
  plan: (wish: Wish, signal: AbortSignal) =>
    new Promise<IPlanned>((answer, fail) => {
      signal.addEventListener('abort', () => fail(new ApiError('gone', 0, ABORTED)));
      asked.push({ wish, signal, answer, fail });
    }),
  send: (id: string, agreement: IAgreement) => {
    sent.push({ id, agreement });
    return new Promise<ISent>((resolve, reject) => {
      sending = answer => (answer instanceof ApiError ? reject(answer) : resolve(answer));
    });
  }
} as unknown as IApi;

/** Wait until so many plans have been asked for; the last one. */
async function plan(count: number): Promise<IAsked> {
  await vi.waitFor(() => expect(asked).toHaveLength(count));
  return asked.at(-1) ?? Promise.reject(new Error('none'));
}

async function shown(count: number, ask: Ask = 'price'): Promise<void> {
  (await plan(count)).answer(planned(`p${count}`, ask));
  await vi.waitFor(() => expect(draft.planned).not.toBeNull());
}

beforeEach(() => {
  asked = [];
  sent = [];
  now = 0;
  const target = { kind: 'create', account: null } as const;
  draft = new Draft({ api, target, accounts: ['slow'], quietMs: 5, now: () => now });
  return () => draft.dispose();
});

describe('Planning', () => {
  it('asks with what was written, once the user pauses', async () => {
    await plan(1);
    draft.rename('demo');
    draft.write({ nodes: 2 });
    draft.write({ nodes: 3 });
    const { wish } = await plan(2);
    const rest = { account: 'slow', name: 'demo', spec: { nodes: 3 }, max_hours: null };
    expect(wish).toEqual({ verb: 'create', ...rest });
  });

  it('asks with the hours after which it is to be deleted', async () => {
    await plan(1);
    draft.maxHours = '1.5';
    expect((await plan(2)).wish).toMatchObject({ max_hours: 1.5 });
    draft.maxHours = '';
    expect((await plan(3)).wish).toMatchObject({ max_hours: null });
  });

  it('takes only the newest plan', async () => {
    const first = await plan(1);
    draft.write({ nodes: 2 });
    expect(first.signal.aborted).toBe(true);
    first.answer(planned('old'));
    await shown(2);
    expect(draft.planned?.plan_id).toBe('p2');
  });

  it('says what is wrong', async () => {
    const problems = [{ field: 'nodes', text: 'must be at least 1.' }];
    (await plan(1)).fail(new ApiError('No.', 400, 'spec', null, problems));
    await vi.waitFor(() => expect(draft.problems).toEqual(problems));
    expect(draft.canSend).toBe(false);
  });
});

describe('Agreement', () => {
  it('is needed for a price and ends with a change', async () => {
    await shown(1);
    expect(draft.canSend).toBe(false);
    draft.isAgreed = true;
    expect(draft.canSend).toBe(true);
    draft.write({ nodes: 2 });
    expect([draft.isAgreed, draft.canSend, draft.planned]).toEqual([false, false, null]);
  });

  it('needs the name where the price is unknown', async () => {
    await shown(1, 'unknown_price');
    draft.isAgreed = true;
    draft.words = 'dem';
    expect(draft.canSend).toBe(false);
    draft.words = 'demo';
    expect(draft.canSend).toBe(true);
  });

  it('is not needed for what is free', async () => {
    await shown(1, 'nothing');
    expect(draft.canSend).toBe(true);
  });
});

describe('Sending', () => {
  it('happens once, however often it is asked for', async () => {
    await shown(1);
    draft.isAgreed = true;
    const all = [draft.send(), draft.send()];
    sending({ cluster: cluster('demo'), attached: false, note: null });
    await Promise.all(all);
    await draft.send();
    expect(sent).toEqual([{ id: 'p1', agreement: { agreed: true, words: null } }]);
    expect(draft.sent?.cluster?.name).toBe('demo');
  });

  it('plans an old plan again and asks again', async () => {
    await shown(1);
    draft.isAgreed = true;
    now = 118_000;
    const done = draft.send();
    await shown(2);
    await done;
    expect(sent).toEqual([]);
    expect([draft.isAgreed, draft.isRenewed, draft.canSend]).toEqual([false, true, false]);
  });

  it.each(['plan_expired', 'plan_used', 'consent'])('plans again after %s', async code => {
    await shown(1);
    draft.isAgreed = true;
    const done = draft.send();
    sending(new ApiError('No.', 409, code));
    await shown(2);
    await done;
    expect([draft.isAgreed, draft.sendError?.code]).toEqual([false, code]);
  });

  it('never sends again by itself what may have happened', async () => {
    await shown(1);
    draft.isAgreed = true;
    const done = draft.send();
    sending(new ApiError('Lost.', 502, 'outcome_unknown'));
    await done;
    expect([draft.planned, draft.canSend, sent.length, asked.length]).toEqual([null, false, 1, 1]);
  });
});

describe('Lists of choices', () => {
  const calls: { lookUp: string; given: object; signal: AbortSignal }[] = [];
  let answers: ((value: string) => void)[];
  let lists: ChoiceLists;

  beforeEach(() => {
    calls.length = 0;
    answers = [];
    lists = new ChoiceLists({
      account: 'a',
      quietMs: 5,
      lookUps: { images: { title: 'Images', depends_on: ['location'], needs: ['location'] } },
      api: {
        choices: (_: string, lookUp: string, given: object, signal: AbortSignal) => {
          calls.push({ lookUp, given, signal });
          return new Promise((resolve, reject) => {
            signal.addEventListener('abort', () => reject(new ApiError('gone', 0, ABORTED)));
            answers.push(value => {
              if (value === 'fail') {
                reject(new ApiError('No answer.', 502));
              }
              const choice = { value, label: value, detail: {}, why_not: null };
              resolve({ choices: [choice], is_complete: true, not_seen: [] });
            });
          });
        }
      }
    });
    return () => lists.dispose();
  });

  const values = () => lists.get('images').choices.map(({ value }) => value);

  it('are not asked for before what they need is there', () => {
    lists.want('images', []);
    expect(calls).toEqual([]);
    expect(lists.get('images').missing).toEqual(['location']);
  });

  it('are asked for again when a dependency changes, and the old question is ended', async () => {
    lists.follow({ location: 'x' });
    lists.want('images', []);
    lists.follow({ location: 'y', nodes: 1 });
    await vi.waitFor(() => expect(calls).toHaveLength(2));
    expect(calls[0]?.signal.aborted).toBe(true);
    answers[0]?.('of x');
    answers[1]?.('of y');
    await vi.waitFor(() => expect(values()).toEqual(['of y']));
  });

  it('are not asked for again when something else changes', async () => {
    lists.follow({ location: 'x' });
    lists.want('images', []);
    answers[0]?.('of x');
    await vi.waitFor(() => expect(values()).toEqual(['of x']));
    lists.follow({ location: 'x', nodes: 2 });
    await new Promise(resolve => setTimeout(resolve, 30));
    expect(calls).toHaveLength(1);
  });

  it('say why they cannot be had, and can be asked for again', async () => {
    lists.follow({ location: 'x' });
    lists.want('images', []);
    answers[0]?.('fail');
    await vi.waitFor(() => expect(lists.get('images').error?.message).toBe('No answer.'));
    lists.reload('images');
    answers[1]?.('of x');
    await vi.waitFor(() => expect(values()).toEqual(['of x']));
    expect(lists.get('images').error).toBeNull();
  });
});
