// Tracks the connections of a listener, so that closing it waits only for answers in flight.
//   - Node's own close() ends idle connections after an answer, but not connections that never sent a
//        request. Clients open such connections in advance. This module treats every connection without an
//        answer in flight as idle.

import type { IncomingMessage, Server } from "node:http";

type Socket = IncomingMessage["socket"];

const GRACE_MS = 2_000;

/** Starts tracking. The returned function closes the listener. */
export function closerOf(node: Server): () => Promise<void> {
  /** The number of answers in flight per socket. */
  const sockets = new Map<Socket, number>();
  let closing = false;
  node.on("connection", (socket: Socket) => {
    sockets.set(socket, 0);
    socket.once("close", () => sockets.delete(socket));
  });
  node.on("request", ({ socket }, response) => {
    sockets.set(socket, (sockets.get(socket) ?? 0) + 1);
    response.once("close", () => {
      const left = (sockets.get(socket) ?? 1) - 1;
      if (sockets.has(socket)) sockets.set(socket, left);
      if (closing && left === 0) socket.destroySoon();
    });
  });
  return () =>
    new Promise((resolve) => {
      closing = true;
      const force = setTimeout(() => node.closeAllConnections(), GRACE_MS);
      node.close(() => {
        clearTimeout(force);
        resolve();
      });
      for (const [socket, answers] of sockets) if (answers === 0) socket.destroy();
    });
}
