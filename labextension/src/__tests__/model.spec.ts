import { PromiseDelegate } from '@lumino/coreutils';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { Api } from '../api';
import { ClustersModel } from '../model';
import { Bus, cluster, HEALTH, state, until } from './make';
import { IAnswer, TestServer } from './server';

let server: TestServer;
let bus: Bus;
let model: ClustersModel;
let now: number;

/** How often the list was asked for. */
const looks = () => server.asked.filter(line => line.includes('/state')).length;

function answerWith(answer: () => IAnswer | Promise<IAnswer>): void {
  server.answer = line => (line.includes('/health') ? { body: HEALTH } : answer());
}

beforeEach(async () => {
  server = await TestServer.start();
  bus = new Bus();
  now = 1000;
  model = new ClustersModel({ api: new Api(server.settings()), events: bus, now: () => now });
  answerWith(() => ({ body: state() }));
});

afterEach(async () => {
  model.dispose();
  await server.stop();
});

describe('what is shown', () => {
  it('is "loading" before the first answer, and nothing is asked until somebody looks', () => {
    expect(model.view.status).toBe('loading');
    expect(server.asked).toEqual([]);
  });

  it('is the list, with the time it came', async () => {
    answerWith(() => ({ body: state({ clusters: [cluster('demo')] }) }));
    await model.refresh();
    expect(model.view.status).toBe('ready');
    expect(model.view.state?.clusters.map(({ name }) => name)).toEqual(['demo']);
    expect(model.view.receivedAt).toBe(1000);
  });

  it('stays the last good list when a look fails, with the reason', async () => {
    answerWith(() => ({ body: state({ clusters: [cluster('demo')] }) }));
    await model.refresh();
    now = 9000;
    answerWith(() => ({ status: 500, body: { message: 'The journal is locked.', hint: 'Wait.' } }));
    await model.refresh();
    expect(model.view.status).toBe('failed');
    expect(model.view.failure).toMatchObject({ message: 'The journal is locked.', hint: 'Wait.' });
    expect(model.view.state?.clusters).toHaveLength(1);
    expect(model.view.receivedAt).toBe(1000);
  });

  it('loses the reason with the next good answer', async () => {
    answerWith(() => ({ status: 500, body: {} }));
    await model.refresh();
    answerWith(() => ({ body: state() }));
    await model.refresh();
    expect(model.view).toMatchObject({ status: 'ready', failure: null });
  });

  it('is "missing" where the server has no part of ours', async () => {
    server.answer = () => ({ status: 404, text: '<html>404</html>' });
    await model.refresh();
    expect(model.view.status).toBe('missing');
  });

  it.each([{ version: '0.0.1' }, { schema_version: 99 }])(
    'names a server part of another version: %o',
    async other => {
      server.answer = line => ({
        body: line.includes('/health') ? { ...HEALTH, ...other } : state()
      });
      await model.refresh();
      expect(model.view.otherVersion).toBe(other.version ?? HEALTH.version);
    }
  );

  it('asks for the version once for each start of the server', async () => {
    await model.refresh();
    await model.refresh();
    const healthChecks = () => server.asked.filter(line => line.includes('/health')).length;
    expect(healthChecks()).toBe(1);
    answerWith(() => ({ body: state({ stream: 'two' }) }));
    await model.refresh();
    expect(healthChecks()).toBe(2);
  });
});

describe('refresh', () => {
  it('during a refresh only asks once more, however often it is called', async () => {
    const hold = new PromiseDelegate<IAnswer>();
    answerWith(() => hold.promise);
    const first = model.refresh();
    await until(() => looks() === 1);
    const others = Array.from({ length: 20 }, () => model.refresh());
    answerWith(() => ({ body: state({ seq: 2 }) }));
    hold.resolve({ body: state() });
    await Promise.all([first, ...others]);
    expect(looks()).toBe(2);
    expect(model.view.state?.seq).toBe(2);
  });

  it('works again after it was done', async () => {
    await model.refresh();
    await model.refresh();
    expect(looks()).toBe(2);
  });
});

describe('while somebody looks', () => {
  beforeEach(async () => {
    model.isWatched = true;
    await until(() => model.view.status === 'ready');
  });

  it('a change on the bus brings a new list', async () => {
    answerWith(() => ({ body: state({ seq: 2, clusters: [cluster('new')] }) }));
    bus.emit('one', 2);
    await until(() => model.view.state?.clusters.length === 1);
    expect(looks()).toBe(2);
  });

  it('a burst of changes costs at most two fetches', async () => {
    answerWith(() => ({ body: state({ seq: 201 }) }));
    for (let seq = 2; seq <= 201; seq++) {
      bus.emit('one', seq);
    }
    await until(() => model.view.state?.seq === 201);
    await model.refresh();
    expect(looks()).toBeLessThanOrEqual(1 + 2 + 1);
  });

  it('a heartbeat after a gap brings a new list, one in order does not', async () => {
    bus.emit('one', 2, 'heartbeat');
    expect(looks()).toBe(1);
    bus.emit('one', 5, 'heartbeat');
    await until(() => looks() === 2);
  });

  it('events of other schemas are ignored', () => {
    bus.emit('one', 2, 'changed', 'https://events.jupyter.org/other');
    expect(looks()).toBe(1);
  });

  it('nothing is asked any more once nobody does, and again when somebody comes back', async () => {
    model.isWatched = false;
    bus.emit('one', 2);
    await new Promise(resolve => setTimeout(resolve, 50));
    expect(looks()).toBe(1);
    model.isWatched = true;
    await until(() => looks() === 2);
  });

  it('disposing twice is safe, and nothing is asked afterwards', () => {
    model.dispose();
    model.dispose();
    bus.emit('one', 7);
    expect(looks()).toBe(1);
  });
});

describe('while nobody looks but somebody wants to be told', () => {
  const pause = () => new Promise(resolve => setTimeout(resolve, 50));

  beforeEach(() => {
    model.isFollowed = true;
  });

  it('a page that had no list asks for one when there is news, not before', async () => {
    bus.emit('one', 1, 'heartbeat');
    document.dispatchEvent(new Event('visibilitychange'));
    await pause();
    expect(looks()).toBe(0);
    bus.emit('one', 2);
    await until(() => looks() === 1);
  });

  it('asks again after a gap, and not by time', async () => {
    await model.refresh();
    bus.emit('one', 2, 'heartbeat');
    await pause();
    expect(looks()).toBe(1);
    bus.emit('one', 9, 'heartbeat');
    await until(() => looks() === 2);
  });
});
