// A proxy that loses what passes through it: how a network fails around a COMMIT.
//   CP1. It reads the protocol far enough to know where a call ends (Sync); a call is lost whole, never in the middle.
//   CP2. One call is lost, the next that commits something; then everything passes again.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { postgres } from "../support/postgres.ts";
import { callLength, isCommit, startLength } from "./protocol.ts";

/**
 * `before`: the call never reaches the server. `after`: it does, and the answer is lost. `late`: the connection is
 * lost at once, and the call reaches the server when the test says so.
 */
export type Cut = "before" | "after" | "late";

export interface CuttingProxy {
  readonly url: string;
  /** Loses the next call that commits something, or one behind it; resolves when it is lost. */
  lose(cut: Cut, passing?: number): Promise<void>;
  /** Lets the call that came too late reach the server; resolves with what the server said to it. */
  deliverLate(): Promise<string>;
}

export async function cuttingProxy(): Promise<CuttingProxy> {
  const target = new URL((await postgres()).url);
  const open = new Set<Socket>();
  let plan: { cut: Cut; passing: number; lost: () => void } | null = null;
  let late: { server: Socket; call: Buffer } | null = null;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    let isSilent = false;
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => open.delete(socket));
    }
    upstream.on("data", (data) => {
      if (!isSilent) client.write(data);
    });
    upstream.on("close", () => client.destroy());
    client.on("close", () => {
      if (late?.server !== upstream) upstream.end();
    });
    let waiting = Buffer.alloc(0);
    let hasStarted = false;
    client.on("data", (data) => {
      waiting = Buffer.concat([waiting, data]);
      for (;;) {
        const length = hasStarted ? callLength(waiting) : startLength(waiting);
        if (length === null) return;
        const call = Buffer.from(waiting.subarray(0, length));
        waiting = waiting.subarray(length);
        hasStarted = true;
        if (plan === null || !isCommit(call) || plan.passing-- > 0) {
          upstream.write(call);
          continue;
        }
        const { cut, lost } = plan;
        plan = null;
        isSilent = true;
        if (cut === "late") late = { server: upstream, call };
        if (cut === "after") {
          // The server has done it when it answers.
          upstream.once("data", () => {
            client.destroy();
            lost();
          });
          upstream.write(call);
          return;
        }
        if (cut === "before") upstream.destroy();
        client.destroy();
        lost();
        return;
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  const url = new URL(target);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.toString(),
    lose: (cut, passing = 0) =>
      new Promise((resolve) => {
        plan = { cut, passing, lost: resolve };
      }),
    deliverLate: () =>
      new Promise((resolve, reject) => {
        if (late === null) return reject(new Error("No call is late."));
        late.server.once("data", (answer) => resolve(answer.toString("latin1")));
        late.server.write(late.call);
      }),
  };
}
