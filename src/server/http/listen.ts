// Listens on a port of this machine.
//   - By default the server listens only on 127.0.0.1 and ::1 (S2). Any other address needs tokens or
//        `authenticate`; without them the server does not start (S1).
//   - Slow clients are disconnected: headers must arrive within 10 s, a whole request within 30 s (S27).
//   - Node answers 431 to headers of more than 16 KiB before this code runs (S26).

import { createServer, type Server } from "node:http";
import type { Client } from "../../client/client.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { checkMembers, checkInteger, type Members } from "../../core/checks.ts";
import { consoleLog } from "../../core/telemetry/console-log.ts";
import { closerOf } from "./connections.ts";
import { nodeListener } from "./node-listener.ts";
import { SERVER_OPTIONS, type ServerOptions } from "../options.ts";
import { isLoopback } from "../security/request-facts.ts";
import { PerdureServer } from "../server.ts";

/** Options of `serve`: those of the server, and port, address and timeouts. */
export interface ListenOptions extends ServerOptions {
  /** The port. 0 picks a free one. Default 8787. */
  readonly port?: number;
  /** The address. Default "localhost": both 127.0.0.1 and ::1. */
  readonly host?: string;
  /** Timeouts for slow clients. */
  readonly timeouts?: {
    /** The time until the headers must have arrived. Default 10 s. */
    readonly headersMs?: number;
    /** The time until the whole request must have arrived. Default 30 s. */
    readonly requestMs?: number;
  };
}

/** A listening server. */
export interface Listening extends AsyncDisposable {
  readonly server: PerdureServer;
  readonly port: number;
  /** The address of the server, such as http://127.0.0.1:8787. */
  readonly url: string;
  /** The IP addresses that the server listens on. */
  readonly addresses: readonly string[];
  /** The generated admin token; see `PerdureServer.token`. */
  readonly token: string | undefined;
  /** Ends streams, waits for answers in flight, and stops listening. */
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

/** Serves the HTTP API and the dashboard on a port until `close` is called. */
export async function serve(client: Client, options: ListenOptions = {}): Promise<Listening> {
  checkMembers(options, LISTEN_OPTIONS, "a server");
  const { port = PORT_DEFAULT, host = "localhost", timeouts = {}, ...rest } = options;
  checkMembers(timeouts, TIMEOUTS, "timeouts");
  checkInteger(port, 0, "port");
  checkInteger(timeouts.headersMs, 1, "headersMs");
  checkInteger(timeouts.requestMs, 1, "requestMs");
  checkBinding(host, options);
  const server = new PerdureServer(client, rest);
  try {
    const nodes = await listenAll(server, host, port, timeouts);
    const log = options.log ?? consoleLog();
    for (const node of nodes) {
      node.on("error", (error) => log("error", "HTTP listener error", { error }));
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
  const message = `Listening on ${host}, which other machines can reach, needs tokens: see createToken().`;
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
      // A port that is free on 127.0.0.1 may be in use on ::1. Try again with another free port.
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
