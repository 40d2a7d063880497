// A proxy that drops traffic, as a network that fails around a COMMIT.
//   - It parses the protocol far enough to find the end of a call (Sync). It drops whole calls, never a part of a call.
//   - It drops the next call that commits something; afterwards it forwards everything again.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { postgres } from "../../support/postgres.ts";
import { callLength, isCommit, startLength } from "./protocol.ts";

/**
 * `before`: the call never reaches the server. `after`: the call reaches the server, and the answer is lost. `late`: the
 * connection is lost at once, and the call reaches the server when the test calls `deliverLate`.
 */
export type Cut = "before" | "after" | "late";

export interface CuttingProxy {
  readonly url: string;
  /** Drops the next call that commits something, after `passing` such calls; resolves when the call is dropped. */
  lose(cut: Cut, passing?: number): Promise<void>;
  /** Forwards the late call to the server; resolves with the answer. */
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
          // The server has executed the call when it answers.
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
        if (late === null) return reject(new Error("there is no late call"));
        late.server.once("data", (answer) => resolve(answer.toString("latin1")));
        late.server.write(late.call);
      }),
  };
}
