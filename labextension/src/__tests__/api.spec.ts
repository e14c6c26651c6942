import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { Api, ApiError, linesOf } from '../api';
import { TestServer } from './server';

let server: TestServer;

beforeEach(async () => {
  server = await TestServer.start();
});

afterEach(() => server.stop());

describe('urls', () => {
  it('lie below the base URL, whose prefix and percent signs are kept', async () => {
    const api = new Api(server.settings('/user/j%C3%BCrgen%40x%2Fy/'));
    await api.state();
    expect(server.asked).toEqual([
      'GET /user/j%C3%BCrgen%40x%2Fy/gpu-clusters/state?no_track_activity=1'
    ]);
  });

  it('carry any character of an id', async () => {
    const api = new Api(server.settings());
    await api.deleteCluster({ account: 'my lab', cluster_id: 'a/b%2F?#&é' });
    expect(server.asked).toEqual([
      'DELETE /gpu-clusters/clusters/my%20lab/a%2Fb%252F%3F%23%26%C3%A9'
    ]);
  });

  it('of a workload name its account and its cluster', async () => {
    const api = new Api(server.settings());
    await api.cancelWorkload({ account: 'a', cluster_id: 'c', workload_id: 'w:1' });
    expect(server.asked).toEqual(['POST /gpu-clusters/workloads/a/c/w%3A1/cancel']);
  });

  it('of a log say how much of it at first, and from where afterwards', async () => {
    const api = new Api(server.settings());
    const workload = { account: 'a', cluster_id: 'c', workload_id: 'w' };
    await api.logs(workload, null);
    await api.logs(workload, { '0': 10, '1': 0 });
    const queries = server.asked.map(
      line => new URL(line.split(' ')[1] ?? '', 'http://x').searchParams
    );
    expect(queries[0]?.get('tail')).toBe('500');
    expect(queries[1]?.get('offsets')).toBe('{"0":10,"1":0}');
    expect(queries.map(query => query.get('no_track_activity'))).toEqual(['1', '1']);
  });
});

describe('answers', () => {
  async function failure(): Promise<ApiError> {
    const error = await new Api(server.settings()).state().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ApiError);
    return error as ApiError;
  }

  it('are returned as they are', async () => {
    server.answer = () => ({ body: { version: '9', schema_version: 7 } });
    expect(await new Api(server.settings()).health()).toEqual({ version: '9', schema_version: 7 });
  });

  it('that say no keep message, code, hint and fields', async () => {
    const fields = [{ field: 'nodes', text: 'must be 1 or more.' }];
    server.answer = () => ({
      status: 409,
      body: { message: 'No.', code: 'conflict', hint: 'Wait.', fields }
    });
    const error = await failure();
    expect(error.message).toBe('No.');
    expect(error.problems).toEqual(fields);
    expect(linesOf(error)).toEqual(['No.', 'nodes: must be 1 or more.', 'Wait.']);
    expect([error.status, error.code, error.hint]).toEqual([409, 'conflict', 'Wait.']);
  });

  it.each([
    [404, '<html>no such page</html>'],
    [502, ''],
    [200, '{"cut of']
  ])('with status %i that are no JSON are errors with that status', async (status, text) => {
    server.answer = () => ({ status, text: text || ' ' });
    expect((await failure()).status).toBe(status);
  });

  it('that never come are errors without a status', async () => {
    const settings = server.settings();
    await server.stop();
    const error = await new Api(settings).state().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ApiError);
    expect((error as ApiError).status).toBe(0);
    server = await TestServer.start();
  });
});
