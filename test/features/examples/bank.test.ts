// The bank example prints what its README shows, and no transfer creates or loses money.

import { expect, test } from "vitest";
import { account, transfer } from "../../../examples/bank/bank.ts";
import { Perdure } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { until } from "../../faults/trouble/support.ts";
import { promisedOutput, runExample } from "./example-runs.ts";

test("the program prints what its README shows", async () => {
  const { printed, complaints } = await runExample("bank");
  expect(printed).toBe(promisedOutput("bank"));
  expect(complaints).toBe("");
});

const quiet = { register: [account, transfer], runtime: { log: () => undefined } };

test("a transfer that is cancelled halfway is completed", async () => {
  await using perdure = await Perdure.open("sqlite::memory:", quiet);
  const { client } = perdure;
  const [a, b] = [client.entity(account, "a"), client.entity(account, "b")];
  await a.deposit({ cents: 100, text: "begin" });
  await b.deposit({ cents: 100, text: "begin" });
  await client.get(account.idOf("b")).pause();
  const handle = await client.start(transfer, { from: "a", to: "b", cents: 10 });
  await until("the money is withdrawn", async () => (await a.balance()) === 90);
  await handle.cancel("changed our mind");
  await until("the transfer has received the cancel", async () =>
    (await handle.history()).some(({ kind }) => kind === "OrchestrationCancelRequested"),
  );
  await client.get(account.idOf("b")).resume();
  await expect(handle.result()).rejects.toThrow("changed our mind");
  expect([await a.balance(), await b.balance()]).toEqual([90, 110]);
});

test("transfers in all directions that a shutdown interrupts keep the sum", async () => {
  const provider = await SqliteProvider.open(":memory:");
  const names = ["a", "b", "c"];
  const first = await Perdure.open(provider, quiet);
  for (const name of names) {
    await first.client.entity(account, name).deposit({ cents: 100, text: "begin" });
  }
  const ids = await Promise.all(
    Array.from({ length: 60 }, async (_, index) => {
      const from = names[index % 3] ?? "";
      const to = names[(index + 1 + (index % 2)) % 3] ?? "";
      const { id } = await first.client.start(transfer, { from, to, cents: 1 + (index % 50) });
      return id;
    }),
  );
  await first.close({ graceMs: 0 });

  const second = await Perdure.open(provider, quiet);
  await Promise.allSettled(ids.map((id) => second.client.get(transfer, id).result()));
  const balances = await Promise.all(
    names.map((name) => second.client.entity(account, name).balance()),
  );
  expect(balances.reduce((sum, cents) => sum + cents, 0)).toBe(300);
  expect(Math.min(...balances)).toBeGreaterThanOrEqual(0);
  await second.close();
  await provider.close();
});
