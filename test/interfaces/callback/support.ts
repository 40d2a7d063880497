// A store, a runtime and the callbacks of its client on a real port; all closed when the test ends.

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { onTestFinished } from "vitest";
import { callbacks, type CallbacksOptions } from "../../../src/callback/index.ts";
import {
  Perdure,
  type CallbackSettings,
  type LogLevel,
  type OpenOptions,
  type Provider,
} from "../../../src/index.ts";
import { freshStore } from "../../support/test-store.ts";

export const SECRET = "a-secret-of-at-least-32-bytes-for-tests";
export const OTHER_SECRET = "another-secret-of-at-least-32-bytes-here";
/** Where the callbacks are mounted. */
export const MOUNT = "/hooks";

export interface Scene {
  readonly perdure: Perdure;
  readonly provider: Provider;
  readonly port: number;
  /** The address of the callbacks. */
  readonly url: string;
  readonly log: string[];
  /** Sends a request to an address, or to a path below the callbacks. */
  send(address: string, init?: RequestInit): Promise<Response>;
  post(
    address: string,
    value: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Response>;
}

export interface SceneOptions extends Pick<OpenOptions, "register" | "runtime"> {
  readonly provider?: Provider;
  readonly secrets?: CallbackSettings["secrets"];
  readonly callbacks?: CallbacksOptions;
}

export async function openScene(options: SceneOptions = {}): Promise<Scene> {
  const { secrets = [SECRET], register = [], runtime = {} } = options;
  const provider = options.provider ?? (await freshStore());
  const app = new Hono();
  const server = createAdaptorServer({ fetch: app.fetch }) as Server; // not HTTP/2
  const port = await listen(server);
  const url = `http://127.0.0.1:${port}${MOUNT}`;
  const perdure = await Perdure.open(provider, {
    register,
    runtime: { log: () => undefined, ...runtime },
    callbacks: { secrets, baseUrl: url },
  });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  const log: string[] = [];
  const write = (level: LogLevel, message: string, fields: unknown): void =>
    void log.push(`${level} ${message} ${JSON.stringify(fields)}`);
  app.route(MOUNT, callbacks(perdure.client, { log: write, ...options.callbacks }));
  const send: Scene["send"] = (address, init) =>
    fetch(address.startsWith("http") ? address : `${url}${address}`, init);
  const post: Scene["post"] = (address, value, headers = {}) =>
    send(address, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(value),
    });
  return { perdure, provider, port, url, log, send, post };
}

export async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port; // it listens on a port
}

/** The code of a problem document, or the status of a successful answer. */
export async function outcomeOf(response: Response): Promise<readonly [number, string]> {
  const body = (await response.json()) as { readonly code?: string; readonly status: string };
  return [response.status, body.code ?? body.status];
}
