/** A real HTTP server on loopback that notes what it is asked and answers as told. */

import { ServerConnection } from '@jupyterlab/services';
import { createServer, Server } from 'node:http';
import { AddressInfo } from 'node:net';

export interface IAnswer {
  status?: number;
  body?: unknown;
  /** In place of JSON. */
  text?: string;
}

export class TestServer {
  /** `METHOD /path?query` as it arrived, without the time stamp that Lab adds against caches. */
  readonly asked: string[] = [];
  answer: (request: string) => IAnswer | Promise<IAnswer> = () => ({ body: {} });

  static async start(): Promise<TestServer> {
    const server = new TestServer();
    await new Promise<void>(resolve => server._server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  settings(path = '/'): ServerConnection.ISettings {
    const { port } = this._server.address() as AddressInfo;
    return ServerConnection.makeSettings({ baseUrl: `http://127.0.0.1:${port}${path}` });
  }

  stop(): Promise<void> {
    this._server.closeAllConnections();
    return new Promise(resolve => this._server.close(() => resolve()));
  }

  private readonly _server: Server = createServer((request, response) => {
    const line = `${request.method ?? ''} ${request.url ?? ''}`.replace(/[?&]\d+$/, '');
    this.asked.push(line);
    void Promise.resolve(this.answer(line)).then(({ status = 200, body, text }) => {
      response.writeHead(status, { 'Content-Type': text ? 'text/html' : 'application/json' });
      response.end(text ?? JSON.stringify(body));
    });
  });
}
