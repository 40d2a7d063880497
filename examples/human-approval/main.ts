// node examples/human-approval/main.ts: three days in a second. Ada does not answer, her manager does.

import { Perdure } from "../../src/index.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import { VirtualEnvironment } from "../../src/testing/index.ts";
import { decision, expense, notify, pay } from "./expense.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

// Virtual time, so that the program does not wait for days. A real program opens "sqlite:./expenses.db" instead.
const environment = new VirtualEnvironment();
const provider = await SqliteProvider.open(":memory:", { environment });
const perdure = await Perdure.open(provider, {
  register: [expense, notify, pay],
  runtime: { beatMs: HOUR, pollIntervalMs: HOUR, stallMs: 2 * HOUR },
});

const handle = await perdure.client.start(
  expense,
  { what: "a new chair", cents: 24_900, approvers: ["ada", "grace"], reminders: 1 },
  { id: "expense-1" },
);
for (let day = 1; day <= 3; day++) {
  await environment.settle();
  const { customStatus, waitingFor } = await handle.describe();
  console.log(
    `day ${day}:`,
    customStatus,
    `open: ${waitingFor.map(({ kind }) => kind).join(", ")}`,
  );
  if (day < 3) await environment.advance(DAY);
}
await handle.raise(decision, { by: "grace", approved: true });
await environment.settle();
console.log(await handle.result({ timeout: 0 }));

await perdure.close();
await provider.close();
