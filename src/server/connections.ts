// The connections of a listener, so that closing it takes no longer than the answers under way.
//   CN1. Node closes what is idle after an answer, and not what has never sent a request, which clients open ahead
//        of need. Here a connection without an answer under way is idle, whatever it did before.

import type { IncomingMessage, Server } from "node:http";

type Socket = IncomingMessage["socket"];

const GRACE_MS = 2_000;

/** Begins to watch; the result closes the listener. */
export function closerOf(node: Server): () => Promise<void> {
  /** Sockets, and how many answers are under way on each. */
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
