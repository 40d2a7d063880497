// A process with a runtime and a client: it runs registers and calls them for its parent, until it is killed.
//   - It measures the times of its calls, because a message to the parent takes longer than a call. The clock is the
//       same for all processes of the machine.

import { once } from "node:events";
import { flushCompileCache } from "node:module";
import { Perdure, type Client, type RuntimeOptions } from "../../../../src/index.ts";
import { loadProvider } from "../../kill/store-address.ts";
import { register, type Call, type Reply } from "./register.ts";

/** A call that the parent sends, as JSON text. */
export interface CallMessage {
  readonly number: number;
  readonly key: string;
  readonly call: Call;
  readonly requestId: string;
}
/** The reply to a CallMessage, as JSON text. */
export interface ReplyMessage {
  readonly number: number;
  readonly calledAt: number;
  readonly answeredAt: number;
  /** Null: the call failed. */
  readonly reply: Reply | null;
  /** Why the call failed. */
  readonly error?: string;
}

/** Much longer than a takeover (histories.3). */
const TIMEOUT = "30s";

const [address = "", , options = "{}"] = process.argv.slice(2);
process.on("disconnect", () => process.exit());
const open = await loadProvider(address);
flushCompileCache(); // normally written at exit, but this process is killed
await once(process, "message");
const runtime = JSON.parse(options) as RuntimeOptions; // from fleet.ts
const { client } = await Perdure.open(await open(), {
  register: [register],
  runtime: { ...runtime, log: () => undefined },
});
process.on("message", (message) => {
  if (typeof message === "string") void answer(JSON.parse(message) as CallMessage); // from caller.ts
});
process.send?.("ready");

async function answer({ number, key, call, requestId }: CallMessage): Promise<void> {
  const calledAt = now();
  const send = (reply: Reply | null, error?: string): void => {
    const message: ReplyMessage = {
      ...{ number, calledAt, answeredAt: now(), reply },
      ...(error === undefined ? {} : { error }),
    };
    process.send?.(JSON.stringify(message));
  };
  try {
    send(await make(client, key, call, requestId));
  } catch (error) {
    send(null, `${requestId}: ${String(error)}`);
  }
}

function make(client: Client, key: string, call: Call, requestId: string): Promise<Reply> {
  const calls = client.entity(register, key);
  const given = { requestId, timeout: TIMEOUT } as const;
  switch (call.kind) {
    case "get":
      return calls.get(undefined, given);
    case "set":
      return calls.set(call.value, given);
    case "add":
      return calls.add(call.value, given);
    case "cas":
      return calls.cas({ from: call.from, value: call.value }, given);
    case "read":
      return calls.current();
  }
}

function now(): number {
  return Number(process.hrtime.bigint());
}
