// The Node listener: the server on a port of this machine.
//   LI1. By default it listens on 127.0.0.1 and ::1 and nowhere else (S2). Any other address needs tokens or
//        `authenticate`, or it does not start (S1).
//   LI2. A peer that sends slowly or not at all is cut off: headers within 10 s, a request within 30 s (S27).
//   LI3. Headers of more than 16 KiB are 431, by Node, before anything of ours runs (S26).

import { createServer, type Server } from "node:http";
import type { Client } from "../client/client.ts";
import { PerdureError } from "../core/errors.ts";
import { checkMembers, checkWhole, type Members } from "../core/known-members.ts";
import { consoleLog } from "../core/console-log.ts";
import { closerOf } from "./connections.ts";
import { nodeListener } from "./node-listener.ts";
import { SERVER_OPTIONS, type ServerOptions } from "./options.ts";
import { isLoopback } from "./request-facts.ts";
import { PerdureServer } from "./server.ts";

/** What the listener may be told, besides what the server may. */
export interface ListenOptions extends ServerOptions {
  /** Default 8787; 0 takes a free one. */
  readonly port?: number;
  /** Default "localhost": both of this machine's own addresses. */
  readonly host?: string;
  /** How slow a peer may be. */
  readonly timeouts?: {
    /** Until its headers are there. Default 10 s. */
    readonly headersMs?: number;
    /** Until the whole request is there. Default 30 s. */
    readonly requestMs?: number;
  };
}

/** A server that listens. */
export interface Listening extends AsyncDisposable {
  readonly server: PerdureServer;
  readonly port: number;
  /** Such as http://127.0.0.1:8787. */
  readonly url: string;
  /** The addresses it listens on. */
  readonly addresses: readonly string[];
  /** As in `PerdureServer`. */
  readonly token: string | undefined;
  /** Ends streams, lets answers under way go out, and stops. */
  close(): Promise<void>;
}

const LISTEN_OPTIONS: Members<ListenOptions> = {
  ...SERVER_OPTIONS,
  port: true,
  host: true,
  timeouts: true,
};
const TIMEOUTS: Members<NonNullable<ListenOptions["timeouts"]>> = {
  headersMs: true,
  requestMs: true,
};
const PORT_DEFAULT = 8_787;
const CONNECTIONS_MAX = 5_000;
const CHECK_MS_MAX = 5_000;
const PORT_TRIES = 10;
const NO_IPV6 = ["EADDRNOTAVAIL", "EAFNOSUPPORT"];

/** Serves the HTTP API and the dashboard until it is closed. */
export async function serve(client: Client, options: ListenOptions = {}): Promise<Listening> {
  checkMembers(options, LISTEN_OPTIONS, "a server");
  const { port = PORT_DEFAULT, host = "localhost", timeouts = {}, ...rest } = options;
  checkMembers(timeouts, TIMEOUTS, "timeouts");
  checkWhole(port, 0, "port");
  checkWhole(timeouts.headersMs, 1, "headersMs");
  checkWhole(timeouts.requestMs, 1, "requestMs");
  checkBinding(host, options);
  const server = new PerdureServer(client, rest);
  try {
    const nodes = await listenAll(server, host, port, timeouts);
    const log = options.log ?? consoleLog();
    for (const node of nodes) {
      node.on("error", (error) => log("error", "the listener met an error", { error }));
    }
    return listening(server, nodes, host);
  } catch (error) {
    await server.close();
    throw error;
  }
}

function checkBinding(host: string, { tokens, authenticate }: ServerOptions): void {
  if (isLoopback(host) || authenticate !== undefined) return;
  if (typeof tokens === "function" || (tokens !== undefined && tokens.length > 0)) return;
  const message = `Listening on ${host}, beyond this machine, needs tokens: see createToken().`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

async function listenAll(
  server: PerdureServer,
  host: string,
  port: number,
  timeouts: NonNullable<ListenOptions["timeouts"]>,
): Promise<readonly Server[]> {
  if (host !== "localhost") return [await listen(nodeServer(server, timeouts), host, port)];
  for (let attempt = 1; ; attempt++) {
    const first = await listen(nodeServer(server, timeouts), "127.0.0.1", port);
    try {
      return [first, await listen(nodeServer(server, timeouts), "::1", portOf(first))];
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "";
      if (NO_IPV6.includes(code)) return [first];
      first.close();
      // A free port of the one address may be taken on the other; another may not.
      if (port !== 0 || code !== "EADDRINUSE" || attempt === PORT_TRIES) throw error;
    }
  }
}

function nodeServer(
  server: PerdureServer,
  { headersMs = 10_000, requestMs = 30_000 }: NonNullable<ListenOptions["timeouts"]>,
): Server {
  const node = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      keepAliveTimeout: 5_000,
      connectionsCheckingInterval: Math.min(CHECK_MS_MAX, Math.ceil(headersMs / 2)),
    },
    nodeListener(server),
  );
  node.maxConnections = CONNECTIONS_MAX;
  return node;
}

function listen(node: Server, host: string, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    node.once("error", reject);
    node.listen({ host, port, ipv6Only: host === "::1" }, () => {
      node.off("error", reject);
      resolve(node);
    });
  });
}

function listening(server: PerdureServer, nodes: readonly Server[], host: string): Listening {
  const port = nodes[0] === undefined ? 0 : portOf(nodes[0]);
  const shown = host === "localhost" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  const closers = nodes.map(closerOf);
  const close = async (): Promise<void> => {
    await server.close();
    await Promise.all(closers.map((closeOne) => closeOne()));
  };
  return {
    server,
    port,
    url: `http://${shown}:${port}`,
    addresses: nodes.map(addressOf),
    token: server.token,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function portOf(node: Server): number {
  const address = node.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

function addressOf(node: Server): string {
  const address = node.address();
  return typeof address === "object" && address !== null ? address.address : "";
}
