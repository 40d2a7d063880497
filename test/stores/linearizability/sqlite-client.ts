// The process of a client: opens the store in a file, executes the calls it receives, and ends when its parent disconnects.

import { SqliteProvider } from "../../../src/sqlite/index.ts";
import type { Call } from "../model/calls.ts";
import { breaking, type BreakageName } from "./broken-clients.ts";
import { carryOut, HeldClock } from "./carry-out.ts";

const [, , file = "", breakage] = process.argv;
const clock = new HeldClock();
const own = await SqliteProvider.open(file, { environment: clock.environment });
const provider = breaking(own, breakage as BreakageName | undefined);

process.on("message", (sent: { readonly call: Call; readonly now: number }) => {
  void carryOut({ provider, clock }, sent)
    .catch((error: unknown) => ({ error: error instanceof Error ? error.stack : String(error) }))
    .then((message) => process.send?.(message));
});
process.on("disconnect", () => void own.close());
process.send?.({});
