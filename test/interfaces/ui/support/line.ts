// A line between the browser and the server that a test can cut.

import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface Line extends AsyncDisposable {
  readonly port: number;
  /** Ends all connections, and refuses new ones. */
  cut(): void;
  restore(): void;
}

export async function openLine(serverPort: number): Promise<Line> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const endAll = (): void => sockets.forEach((socket) => socket.destroy());
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect(serverPort, "127.0.0.1");
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => undefined); // "close" follows
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true;
      endAll();
    },
    restore() {
      isCut = false;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      endAll();
      await once(server, "close");
    },
  };
}
