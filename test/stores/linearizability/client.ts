// Clients that call the store concurrently, each with its own connections.

import { fork, type ChildProcess } from "node:child_process";
import { PostgresProvider } from "../../../src/postgres/index.ts";
import type { Call } from "../model/calls.ts";
import { postgres } from "../../support/postgres.ts";
import { breaking, type BreakageName } from "./broken-clients.ts";
import { carryOut, HeldClock, type Answered } from "./carry-out.ts";

export interface Client {
  call(call: Call, now: number): Promise<Answered>;
  close(): Promise<void>;
}

/** A client in this process with its own pool: its calls run concurrently in the server. */
export async function postgresClient(schema: string, breakage?: BreakageName): Promise<Client> {
  const { url } = await postgres();
  const clock = new HeldClock();
  const options = { environment: clock.environment, notifications: false, prepare: true };
  const own = await PostgresProvider.open(url, { ...options, schema, poolSize: 2 });
  const provider = breaking(own, breakage);
  return {
    call: (call, now) => carryOut({ provider, clock }, { call, now }),
    close: () => own.close(),
  };
}

/** A client in a child process, because SQLite calls block their thread. */
export async function sqliteClient(file: string, breakage?: BreakageName): Promise<Client> {
  const program = new URL("./sqlite-client.ts", import.meta.url);
  const args = breakage === undefined ? [file] : [file, breakage];
  const child = fork(program, args, { execArgv: [], serialization: "advanced" });
  await nextMessage(child); // the client is ready
  return {
    async call(call, now) {
      const answered = nextMessage(child);
      child.send({ call, now });
      return (await answered) as Answered;
    },
    async close() {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      child.disconnect();
      await exited;
    },
  };
}

function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error("the process of the client ended"));
    child.once("exit", onExit);
    child.once("message", (message: { readonly error?: string }) => {
      child.off("exit", onExit);
      if (message.error === undefined) resolve(message);
      else reject(new Error(message.error));
    });
  });
}
