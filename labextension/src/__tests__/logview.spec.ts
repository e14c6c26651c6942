import { nullTranslator } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Api, ILogs } from '../api';
import { LogView } from '../logview';
import { until } from './make';
import { IAnswer, TestServer } from './server';

const trans = nullTranslator.load('test');
const target = {
  account: 'local',
  cluster_id: 'c',
  workload_id: 'w',
  full_name: 'local/demo/train'
};

let server: TestServer;
let view: LogView;

beforeEach(async () => {
  server = await TestServer.start();
  // jsdom lays nothing out: a line is 10 pixels high, and ten of them are in sight.
  vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(100);
  vi.spyOn(HTMLElement.prototype, 'scrollHeight', 'get').mockImplementation(function (
    this: HTMLElement
  ) {
    return this.querySelectorAll('.jp-GpuClusters-logRank').length * 10;
  });
});

afterEach(async () => {
  view.dispose();
  vi.restoreAllMocks();
  await server.stop();
});

/** Answers one after the other; the last one for ever. */
function open(answers: (Partial<ILogs> | IAnswer)[], maxLines = 1000): void {
  let next = 0;
  server.answer = () => {
    const answer = answers[Math.min(next++, answers.length - 1)] ?? {};
    const body = {
      chunks: [],
      offsets: {},
      has_more: false,
      phase: 'running',
      is_final: false,
      ...answer
    };
    return 'status' in answer ? answer : { body };
  };
  view = new LogView({ api: new Api(server.settings()), target, trans, maxLines });
  Widget.attach(view, document.body);
}

const say = (rank: number, text: string, offset = 0) => ({
  rank,
  text,
  offset,
  end: offset + text.length
});
const scroller = () =>
  view.node.querySelector<HTMLElement>('.jp-GpuClusters-logScroller') ?? view.node;
const status = () => view.node.querySelector('[role=status]')?.textContent ?? '';
const lines = () =>
  [...view.node.querySelectorAll<HTMLElement>('.jp-GpuClusters-logScroller > div:last-child > div')]
    .filter(line => !line.hidden)
    .map(line => line.textContent);

describe('LogView', () => {
  it('shows the ranks with their numbers, and goes on from where it was', async () => {
    open([
      { chunks: [say(0, 'a\n'), say(1, 'b\n')], offsets: { '0': 2, '1': 2 } },
      { chunks: [say(0, 'c\n', 2)], offsets: { '0': 4, '1': 2 } }
    ]);
    await until(() => lines().length === 3);
    expect(lines()).toEqual(['[0] a', '[1] b', '[0] c']);
    expect(decodeURIComponent(server.asked[1] ?? '')).toContain('offsets={"0":2,"1":2}');
  });

  it('reads on at once while there is more', async () => {
    const more = { has_more: true, offsets: { '0': 1 } };
    open([more, more, more, { chunks: [say(0, 'end\n')] }]);
    await until(() => lines().length === 1, 900);
  });

  it('stops and says so when the workload has ended', async () => {
    open([{ chunks: [say(0, 'bye\n')], phase: 'failed', is_final: true }]);
    await until(() => status() === 'The workload has ended: failed');
    const asked = server.asked.length;
    await new Promise(resolve => setTimeout(resolve, 1500));
    expect(server.asked.length).toBe(asked);
  });

  it('says that there is no output yet', async () => {
    open([{ phase: 'pending' }]);
    await until(() => status() === 'No output yet (pending)');
  });

  it('goes on after a failure, and says what failed', async () => {
    const bad = { status: 502, body: { message: 'Bad gateway.' } };
    open([bad, { chunks: [say(0, 'a\n')] }]);
    await until(() => status().includes('will try again: Bad gateway.'));
    await until(() => lines().length === 1);
    expect(status()).toBe('running');
  });

  it('gives up on a workload that is not there', async () => {
    open([{ status: 404, body: { message: 'There is no workload w.' } }]);
    await until(() => status() === 'There is no more to read: There is no workload w.');
    const asked = server.asked.length;
    await new Promise(resolve => setTimeout(resolve, 1500));
    expect(server.asked.length).toBe(asked);
  });

  it('can show one rank alone, also of what comes later', async () => {
    open([
      { chunks: [say(0, 'a\n'), say(1, 'b\n')] },
      { chunks: [say(0, 'c\n', 2), say(1, 'd\n', 2)], phase: 'succeeded', is_final: true }
    ]);
    await until(() => lines().length === 2);
    view.onlyRank = 1;
    await until(() => lines().length === 2 && status().includes('ended'));
    expect(lines()).toEqual(['[1] b', '[1] d']);
    view.onlyRank = null;
    expect(lines()).toHaveLength(4);
  });

  it('keeps a bounded number of lines, and says that there was more', async () => {
    open([{ chunks: [say(0, '1\n2\n3\n4\n5\n')], is_final: true }], 3);
    await until(() => lines().length > 0);
    expect(lines()).toEqual(['[0] 3', '[0] 4', '[0] 5']);
    expect(view.node.textContent).toContain('Older output is not shown here');
  });

  it('shows output as text, whatever it says', async () => {
    open([{ chunks: [say(0, '<img src=x onerror="alert(1)">\n')] }]);
    await until(() => lines().length === 1);
    expect(view.node.querySelector('img')).toBeNull();
    expect(lines()[0]).toContain('<img');
  });

  it('follows the end until the user scrolls up, and again from the end on', async () => {
    const many = Array.from({ length: 50 }, (_, i) => `${i}\n`).join('');
    open([{ chunks: [say(0, many)] }, { chunks: [say(0, many, many.length)] }]);
    await until(() => lines().length === 50);
    expect(scroller().scrollTop).toBe(500);
    scroller().scrollTop = 120;
    scroller().dispatchEvent(new globalThis.Event('scroll'));
    expect(view.isFollowing).toBe(false);
    await until(() => lines().length === 100);
    expect(scroller().scrollTop).toBe(120);
    scroller().scrollTop = 900;
    scroller().dispatchEvent(new globalThis.Event('scroll'));
    expect(view.isFollowing).toBe(true);
  });
});
