// Couples the life of Node's HTTP server with that of the runtime, for frameworks without a hook for it (Express, Hono).

import type { App } from "./app.ts";

const GRACE_MS = 10_000;

/** The part of Node's HTTP server that is needed to close it. */
export interface ClosableServer {
  close(ended: () => void): unknown;
  once(event: "close", listener: () => void): unknown;
  closeAllConnections?(): void;
}

/**
 * Couples the lives of an HTTP server and the runtime: when the server closes, the runtime shuts down. SIGTERM and SIGINT
 * close the server first. Returns the server.
 */
export type CloseWith = <Listening extends ClosableServer>(server: Listening) => Listening;

/** Requests that take longer than `graceMs` after a signal are cut off. */
export function closingOf(app: App<never>, graceMs = GRACE_MS): CloseWith {
  return (server) => {
    server.once("close", () => app.stop());
    app.beforeClose(() => closed(server, graceMs));
    return server;
  };
}

async function closed(server: ClosableServer, graceMs: number): Promise<void> {
  const ended = Promise.withResolvers<void>();
  const late = setTimeout(() => server.closeAllConnections?.(), graceMs);
  server.close(() => ended.resolve()); // also called, with an error, if the server was closed before
  await ended.promise;
  clearTimeout(late);
}
